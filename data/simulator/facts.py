# ruff: noqa: E501 -- one sentence or list a line
"""What a persona lets slip: the facts that a later question may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FactKind:
    """One kind of fact in many wordings.

    Parameters
    ----------
    name
        Short label.
    says
        How the user states it; one story fills the slots of all of them.
    asks
        Questions that it answers: the first is about what ``changes``, the last fits every wording.
    echo
        What the assistant calls it in a reply.
    more
        Particulars that the user adds to it, about half of the time.
    changes
        The slot that a later update redraws; empty when the fact does not change.
    news
        How the user states the update.
    trend
        ``up`` or ``down`` when updates only go one way.
    tally
        Question over several facts of this kind; empty when they cannot be added up.
    event
        Noun phrase for date questions; empty when the fact has no date.
    """

    name: str
    says: tuple[str, ...]
    asks: tuple[str, ...]
    echo: str
    more: tuple[str, ...] = ()
    changes: str = ""
    news: tuple[str, ...] = ()
    trend: str = ""
    tally: str = ""
    event: str = ""


FACTS: tuple[FactKind, ...] = (
    FactKind(
        "purchase",
        (
            "I [just|finally|] [bought|picked up|ordered] {a colour} {item} [from {shop}|at {shop}|] [for {price}|] {when}.",
            "My new {item} [is {colour} and|] [came from|is from] {shop}[, it cost me {price}|].",
            "We got ourselves {a item} {when}, {a colour} one[, {price} with delivery|].",
            "The {item} that I ordered from {shop} [arrived|showed up] {when}[ and it is {colour}|].",
            "I ended up paying {price} for the {colour} {item}.",
        ),
        ("Which {item} did I get?", "What did I tell you about my new {item}?"),
        "the {item}",
        more=("I compared {few} models first and took my {kin} along.", "I paid half of it with my {month} bonus."),
        tally="How much did I spend on new things altogether?",
        event="getting the {item}",
    ),
    FactKind(
        "repair",
        (
            "I [had|got] the {part} on my {item} [replaced|fixed] {when}[, {price} in total|].",
            "My {item} was in the shop {when} because the {part} [gave out|failed].",
            "The {part} of my {item} broke {when} and [{name} at {shop}|the man at {shop}] [swapped it|put in a new one].",
            "I changed the {part} on the {item} myself {when}, it took me {few} hours.",
        ),
        ("What was wrong with my {item}?", "What did I have repaired on my {item}?"),
        "the {item}",
        more=("I had it for {few} years before that.", "My {kin} lent me the tools and I needed {few} screws."),
        tally="How many repairs did I have done?",
        event="fixing the {part} of the {item}",
    ),
    FactKind(
        "pet",
        (
            "We [adopted|brought home] {a animal} called {petname} {when}.",
            "My {animal} {petname} [turned {few}|is {few} years old now|had {few} teeth out {when}].",
            "{petname}, my {animal}, [has to go to the vet {soon}|weighs {some} pounds|is scared of thunder].",
            "My {kin}'s old {animal} {petname} lives with me now.",
        ),
        ("What is the name of my {animal}?", "What do you know about my {animal}?"),
        "{petname}",
        more=("My {kin} picked the name.", "I feed it at {clock}, on my {kin}'s advice."),
        tally="How many pets have I mentioned?",
        event="the day {petname} came up",
    ),
    FactKind(
        "trip",
        (
            "I [spent|was away for] {few} days in {city} with my {kin} {when}.",
            "My {kin} and I [flew to|drove to|took the train to] {city} {when}.",
            "I got back from {city} {when}[, we stayed at a place on {street}|].",
            "I have booked {city} for {few} nights, we leave {soon}.",
            "When we were in {city} {when} my {kin} lost a passport.",
        ),
        ("What did I say about my trip to {city}?",),
        "{city}",
        more=("I took {many} photos with my old camera.", "We had {dish} at {eatery} on our first night."),
        tally="How many trips did I take?",
        event="the trip to {city}",
    ),
    FactKind(
        "job",
        (
            "I started [working|] as {a job} at {company} {when}.",
            "My {kin} {name} works as {a job} for {company}.",
            "I [handed in my notice|gave notice] at {company} {when}.",
            "I have been {a job} for {few} years, the last two at {company}.",
            "{company} offered me {fortune} a year for the {job} role.",
        ),
        ("What did I say about {company}?",),
        "{company}",
        more=("My boss there is {name2} and I have {few} people in my team.", "I signed the papers {when2}."),
        tally="How many employers did I mention?",
        event="the change at {company}",
    ),
    FactKind(
        "home",
        (
            "I live in {quarter} [now|], on {street}.",
            "We moved into {quarter} {when}.",
            "My apartment [in {quarter}|on {street}] costs {price} a week[, heating included|].",
        ),
        ("Which part of town is my home in?", "Where do I live?"),
        "{quarter}",
        more=("I share it with my {kin}.", "I pay {price} a week and my lease runs until {month}."),
        changes="quarter",
        news=(
            "We have moved, it's {quarter} now.",
            "I live in {quarter} these days[, the old place was too small|].",
            "Since {when2} my address is in {quarter}.",
        ),
        event="the move to {quarter}",
    ),
    FactKind(
        "commute",
        (
            "My commute takes {minutes} minutes [each way|door to door].",
            "It takes me {minutes} minutes to get to the office [from here|].",
            "I ride the bus {minutes} minutes to work [every day|].",
        ),
        ("How long is my commute?",),
        "the commute",
        more=("I leave my house at {clock}.", "I change once, at {street}."),
        changes="minutes",
        news=(
            "My commute is [down to|up to|now] {minutes} minutes [since the new line opened|].",
            "These days I need {minutes} minutes to work.",
        ),
    ),
    FactKind(
        "race",
        (
            "My best 5k [time|] is {race}.",
            "I ran the {charity} 5k in {race} {when}.",
            "I [finished|got round] in {race} at the race {when}, a personal best.",
        ),
        ("What is my personal best over 5k?",),
        "that time",
        more=("I had trained for {some} weeks with my {kin}.", "I came in as number {many}."),
        changes="race",
        trend="down",
        news=("I beat it, the 5k is {race} now.", "My new personal best is {race}[, set {when2}|]."),
        event="the race",
    ),
    FactKind(
        "collection",
        (
            "I own {some} {collectible} [by now|at the moment|].",
            "There are {some} {collectible} on my shelves.",
            "My {collectible} [fill a whole wall|take up a cabinet], {some} of them at the last count.",
        ),
        ("How many {collectible} do I have?",),
        "your {collectible}",
        more=("I got my first one in {year} from my {kin}.", "I paid {price} for my favorite."),
        changes="some",
        news=(
            "I counted my {collectible} again and it's {some}.",
            "With the ones from {when2} my {collectible} come to {some}.",
        ),
    ),
    FactKind(
        "class",
        (
            "I go to {sport} [on {weekday}s|{few} times a week].",
            "My {sport} class is on {weekday} at {clock}.",
            "I signed up for {sport} [with my {kin}|at the gym on {street}] {when}.",
        ),
        ("On which day do I go to {sport}?", "What do you know about my {sport}?"),
        "{sport}",
        more=("My trainer is {name}.", "I paid {price} for {few} months up front."),
        changes="weekday",
        news=("My {sport} class was moved to {weekday}.", "{sport} is on {weekday}s now, the old slot is gone."),
        tally="How many sports do I do?",
        event="signing up for {sport}",
    ),
    FactKind(
        "appointment",
        (
            "I have to see Dr. {surname}, my {specialist}, {soon} at {clock}.",
            "My {specialist} [found|diagnosed] {a ailment} {when}.",
            "I saw the {specialist} about my {ailment} {when}.",
            "Dr. {surname} put me on {few} tablets a day for the {ailment}.",
        ),
        ("What did I tell you about my doctors and my {ailment}?",),
        "the {ailment}",
        more=("I had waited {few} weeks for my slot.", "My {kin} drove me there at {clock}."),
        tally="How many doctors did I see?",
        event="the visit to the {specialist}",
    ),
    FactKind(
        "family",
        (
            "My {kin} {name} got married in {city} {when}.",
            "My {kin} {name} [had a baby|turned {some}|moved to {city}] {when}.",
            "My {kin} is called {name}[ and lives in {city}|].",
            "{name}, my {kin}, [is staying with us until {weekday}|was born in {year}].",
            "We buried my {kin} {name} {when}.",
        ),
        ("What is my {kin}'s name?", "What did I tell you about my {kin} {name}?"),
        "your {kin}",
        more=("I was there with my {kin2}.", "I sent {few} roses and my love."),
        tally="How many relatives did I tell you about?",
        event="the news about {name}",
    ),
    FactKind(
        "concert",
        (
            "I saw {band} at {venue} {when}[ with my {kin}|].",
            "My {kin} took me to hear {band} in {city} {when}.",
            "I have tickets for {band} at {venue} {soon}[, {price} each|].",
        ),
        ("Where was the concert of {band}?", "What did I say about {band}?"),
        "{band}",
        more=("I stood in row {digit} with my {kin2}.", "I spent {bill} on my shirt."),
        tally="How many concerts did I go to?",
        event="the {band} concert",
    ),
    FactKind(
        "reading",
        (
            "I am on [page {many}|chapter {some}] of {book}.",
            "I have read {some} pages of {book} so far.",
            "My book club picked {book}, and I'm {few} chapters in.",
        ),
        ("How far am I with {book}?",),
        "{book}",
        more=("My {kin} gave me the copy, I started it {when2}.", "I read {few} pages each night in my bed."),
        changes="some",
        trend="up",
        news=("I have got to chapter {some} of {book}.", "{book}: I'm at chapter {some} now."),
    ),
    FactKind(
        "baking",
        (
            "I made {dish} for my {kin}'s {occasion} {when}.",
            "I [baked|cooked] {dish} {when} [and used {few} lemons|with my {kin}|after my grandmother's recipe].",
            "My {dish} won a ribbon at the {charity} {when}.",
        ),
        ("When did I make {dish}?", "What was it about my {dish}?"),
        "the {dish}",
        more=("I made it for {few} people, in my own kitchen.", "I needed {minutes} minutes and my {kin2} had {few} helpings."),
        tally="How many dishes did I make?",
        event="making {dish}",
    ),
    FactKind(
        "garden",
        (
            "I planted {few} rows of {plant} {when}.",
            "My {plant} [came up|were eaten by snails] {when}.",
            "We harvested {some} pounds of {plant} {when}.",
        ),
        ("What did I tell you about my {plant}?",),
        "the {plant}",
        more=("I dug the bed myself with my {kin}.", "I paid {price} for my seeds at {shop}."),
        tally="How many kinds of plants did I put in?",
        event="planting the {plant}",
    ),
    FactKind(
        "course",
        (
            "I finished my {subject} certificate {when}.",
            "I'm taking {subject} on {weekday} evenings[ at the college on {street}|].",
            "I passed the {subject} exam with {percent} {when}.",
            "I [did|completed] a {craft} workshop at {shop} {when}.",
        ),
        ("Which course did I take?", "What did I learn, and where?"),
        "the course",
        more=("I went with my {kin} and paid {price}.", "I took {few} lessons at my own pace before."),
        tally="How many courses and workshops did I do?",
        event="the {subject} course",
    ),
    FactKind(
        "lessons",
        (
            "I've been playing the {instrument} for {few} years.",
            "My {instrument} teacher is {name}[, we meet on {weekday}s|].",
            "I took up the {instrument} again {when}[, an hour a day|].",
        ),
        ("Who teaches me the {instrument}?", "What do you know about me and the {instrument}?"),
        "the {instrument}",
        more=("I practice in my {room} for {minutes} minutes a day.", "I bought mine {when} for {price}."),
        changes="name",
        news=("I changed teachers, {name} gives me {instrument} lessons now.",),
        event="taking up the {instrument}",
    ),
    FactKind(
        "gift",
        (
            "My {kin} gave me {a item} for my {occasion}[ {when}|].",
            "I gave my {kin} {a colour} {item} for the {occasion}[, it was {price}|].",
            "The {item} is from my {kin}, [{a occasion} present|for passing my exam].",
        ),
        ("Which present was it between my {kin} and me?", "Who was the {item} from, or for?"),
        "the {item}",
        more=("I keep it in my {room}.", "I wrote a card with it, signed by {few} of my friends."),
        tally="How many presents were there?",
        event="the {item} as a present",
    ),
    FactKind(
        "volunteering",
        (
            "I helped out at the {charity} {when}[, about {few} hours|].",
            "We raised {price} for the {charity} {when}.",
            "I run the {charity} with {name} every {weekday}.",
        ),
        ("Where did I volunteer?", "What did I do for the {charity}?"),
        "the {charity}",
        more=("I went with my {kin} and {few} colleagues.", "I carried {some} boxes in my own car."),
        tally="How many times did I volunteer?",
        event="the {charity}",
    ),
    FactKind(
        "savings",
        (
            "The bank pre-approved me for {fortune}.",
            "I have put aside {fortune} for a house.",
            "My savings goal is {fortune}[, by {month}|].",
        ),
        ("What amount did I name for the house?",),
        "the budget",
        more=("I met {name} {surname} at my bank {when}.", "I put {price} a week into my account."),
        changes="fortune",
        news=("The bank went to {fortune}.", "It's {fortune} now, they looked at my papers again."),
    ),
    FactKind(
        "plan",
        (
            "I pay {price} a month for the {service}.",
            "My {service} renews on the {few}th[ and costs {price}|].",
            "I [cancelled|signed up for] the {service} {when}.",
        ),
        ("What do I pay for the {service}?",),
        "the {service}",
        more=("I use it with my {kin}, {few} times a week.", "I signed my contract in {month}."),
        changes="price",
        news=("The {service} went to {price} a month.", "They charge me {price} for the {service} now."),
        event="the change of the {service}",
    ),
    FactKind(
        "renovation",
        (
            "We painted the {room} {colour} {when}.",
            "I redid the {room} {when}[, {price} for the materials|].",
            "{name} is doing our {room}, the work starts {soon}.",
        ),
        ("Which colour is the {room}?", "What did we do with the {room}?"),
        "the {room}",
        more=("I did it with my {kin} in {few} days.", "I spent {price} on my tools alone."),
        changes="colour",
        news=("We painted over it, the {room} is {colour} now.",),
        tally="How many rooms did we work on?",
        event="the work in the {room}",
    ),
)  # fmt: skip

#: Lasting tastes; the question asks for advice and the taste decides which advice is good.
PREFERENCES: tuple[FactKind, ...] = (
    FactKind(
        "diet",
        (
            "I don't eat {food}[, never have|].",
            "I'm allergic to {food}.",
            "I can't stand {food}[, even the smell|].",
            "My doctor wants me to stay off {food} for good.",
        ),
        ("Can you suggest something for dinner tonight?", "What could I order at a new restaurant?"),
        "no {food}",
        more=(
            "I found out in {year}, in my school days.",
            "My {kin} has the same, I think we got it from my {kin2}.",
        ),
    ),
    FactKind(
        "drink",
        (
            "I only drink {drink} in the morning.",
            "{drink} is what I like best, I rarely have anything else.",
            "I'd take {drink} over {drink2} any day.",
        ),
        ("What should I get at the café?",),
        "{drink}",
        more=("I gave up the rest in {year} for my health.",),
    ),
    FactKind(
        "media",
        (
            "I love {genre}, but {shunned} leave me cold.",
            "My favorite evenings are the ones with {genre}.",
            "I've always preferred {genre} to {shunned}.",
            "I gave up on {shunned} years ago, {genre} are more my thing.",
        ),
        ("Can you recommend something for tonight?", "What should I watch or read next?"),
        "{genre}",
        more=("I went through {few} of them last month with my {kin}.",),
    ),
    FactKind(
        "lodging",
        (
            "I always stay in {lodging} when I travel.",
            "We like {lodging} best[, anything bigger makes me nervous|].",
            "My {kin} and I only book {lodging}.",
        ),
        ("Where should I stay on my next trip?",),
        "{lodging}",
        more=("I did that on my last {few} trips.", "I sleep badly in a big house, and so does my {kin}."),
    ),
    FactKind(
        "taste",
        (
            "I like my things {quality} and {quality2}.",
            "{quality} furniture is what I go for[, {colour} if there is a choice|].",
            "I care more about {quality} than about cheap.",
            "For me a gift has to be {quality}.",
        ),
        ("Can you help me choose something for my home?", "What kind of gift would I like?"),
        "{quality}",
        more=("I got that from my {kin}, I think.", "I gave away {few} things that did not fit my rooms."),
    ),
    FactKind(
        "explaining",
        (
            "I learn best when things are explained {style}.",
            "Please always answer {style}, that is how I like it.",
            "I prefer explanations {style}, everything else I forget.",
        ),
        ("Can you explain how a mortgage works?",),
        "{style}",
        more=("I was like that in my school days.",),
    ),
    FactKind(
        "routine",
        (
            "I never schedule anything before {clock}.",
            "I keep my {weekday}s free on principle.",
            "{sport} in the morning is sacred to me, so evenings work better.",
        ),
        ("When should I plan the meeting?", "Can you set up a weekly plan for me?"),
        "your rhythm",
        more=("I have kept to it for {few} years with my {kin}.",),
    ),
)
