# ruff: noqa: E501 -- one sentence or list a line
"""What the simulated assistant says: advice, explanations, drafts, and lists that may be asked for later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of named things that the assistant recommends or sets up.

    Parameters
    ----------
    requests
        What the user asks.
    intro
        The line before the list.
    line
        One entry; its slots are drawn anew for each entry, those named in ``shared`` excepted.
    shared
        Slots that the whole list has in common with the request.
    asks
        Questions that one entry answers.
    sort
        The slot by which the entries are ordered (``weekday`` or ``hour``), or "".
    """

    requests: tuple[str, ...]
    intro: tuple[str, ...]
    line: tuple[str, ...]
    shared: tuple[str, ...]
    asks: tuple[str, ...]
    sort: str = ""


LISTINGS: tuple[Listing, ...] = (
    Listing(
        ("Where can I eat well in {city}?", "Do you know places for {dish} in {city}?"),
        ("Here are [some|a few] places in {city} [that you could try|people like]:", "In {city} I would look at these:"),
        ("{eatery} on {street}, known for {dish2}", "{eatery}, {street}: try the {dish2}, about {bill}"),
        ("city",),
        ("Which place on {street} in {city} did you suggest?", "What was {eatery} known for?"),
    ),
    Listing(
        ("Which books should I read next?", "Can you recommend a few {genre}?"),
        ("You might [enjoy|like] these:", "[A few|Some] suggestions:"),
        ("{book} by {name} {surname}, {many} pages", "{book} ({year}) by {name} {surname}"),
        (),
        ("Who wrote {book}, the one that you recommended?",),
    ),
    Listing(
        ("Can you make me a weekly plan?", "Could you set up a training week with {sport}?"),
        ("Here is a plan for [the|your] week:", "Let's try this for [four|six] weeks:"),
        ("{weekday}: {minutes} minutes of {sport2}, then {few} rounds", "{weekday}: {sport2}, {minutes} minutes, {clock}"),
        (),
        ("In the plan that you made, what was on {weekday}?",),
        sort="weekday",
    ),
    Listing(
        ("Where do I get {a item} in {city}?", "Which shops in {city} sell {a item}?"),
        ("These shops in {city} [carry|sell] them:", "You could try [these|the following] shops:"),
        ("{shop} on {street}, from {price}", "{shop}: {few} models, the {colour} one is {price}"),
        ("city", "item"),
        ("Which shop had the {item} for {price}?", "What did you say about {shop}?"),
    ),
    Listing(
        ("What bands could I listen to?", "Which live shows are worth it in {city}?"),
        ("[A few|Some] names to start with:", "Give these a try:"),
        (
            "{band} from {city2}, start with the album The {bandhead} {booktail}",
            "{band} ({city2}): {few} albums, The {bandhead} {booktail} is the best",
        ),
        (),
        ("Which album of {band} did you name?", "Where was {band} from?"),
    ),
    Listing(
        ("Where should I stay in {city}?", "Which neighborhoods are good in {city}?"),
        ("Options in {city}, [from cheap to expensive|in no order]:", "For {city} I would consider:"),
        ("{streethead} House in {quarter}, {price} a night", "{brandhead} Rooms, {few} minutes from {quarter}, {price}"),
        ("city",),
        ("What was the place for {price} in {city} called?", "Where in {city} did you say I could stay?"),
    ),
    Listing(
        ("Can you invent characters for my story?", "I need names for people in a game, any ideas?"),
        ("Here is a [small|] cast:", "How about these:"),
        ("{name} {surname}, {age}, {a job} who hides {some} {collectible}", "{name} {surname}, {a character} from {city}"),
        (),
        ("What was the job of {name} {surname} in the cast you made?",),
    ),
    Listing(
        ("Can you draft a timetable for a day in {city}?", "How would you spend a day in {city}?"),
        ("A day in {city} could look like this:", "One possible day:"),
        ("{hour}:00, {venue}, then {dish} at {eatery}", "{hour}:30, walk along {street} to {venue}"),
        ("city",),
        ("At what time was {venue} in the day that you planned?",),
        sort="hour",
    ),
)  # fmt: skip

INTROS: tuple[str, ...] = (
    "[Sure|Certainly|Of course][!|.] Here are [some|a few] [ideas|tips|thoughts] for {thing}:",
    "[Happy|Glad] to help with {thing}. [You could try the following|Consider the following]:",
    "There are [several|a few] ways to go about this:",
    "Good question. With {thing}, these points matter most:",
    "Here is what usually works:",
)

OUTROS: tuple[str, ...] = (
    "Let me know if you want more detail.",
    "Would you like an example?",
    "Overall, start small and adjust as you go.",
    "Remember that everyone's situation is different.",
    "I hope this helps!",
    "Do you have a budget or a deadline in mind?",
    "Enjoy!",
    "",
    "",
)

GENERAL: tuple[str, ...] = (
    "It is important to consider the specific situation before you decide.",
    "Many people find {thing} easier after the first {few} weeks.",
    "A small, regular effort is usually more effective than a big one now and then.",
    "In general, the cost depends on the size, the material and the place.",
    "You may want to compare at least {few} options.",
    "However, there is no single right answer here.",
    "The most common mistake is to start with too much at once.",
    "Additionally, it can help to write down what you have tried.",
    "That said, {thing} should be fun as well.",
    "A rule of thumb is to plan {minutes} minutes for it.",
    "As a language model I cannot check this for your area, so please ask a professional.",
    "Most guides suggest between {few} and {some} repetitions, depending on the level.",
    "I would look at the quality first and at the price second.",
    "Furthermore, the result depends on how much time you can spend.",
    "If something goes wrong, take a step back and change one thing at a time.",
    "Unfortunately, I don't have reliable numbers on that.",
    "There are good and less good reasons for either choice.",
    "Experts recommend a mix of practice and rest.",
    "In {city}, for example, this is handled quite differently.",
    "You can expect to see a difference within {few} weeks.",
)

ECHOES: tuple[str, ...] = (
    "[Nice|Good to know|Thanks for telling me], {echo} [will matter here|is a good starting point|changes things a little].",
    "[I see|Understood], {echo} [must have been on your mind|may well matter for this].",
    "With {echo} in mind, I would [go slowly|keep it simple|plan a little extra time].",
    "[Noted|Understood]. I will keep {echo} in mind.",
)

NODS: tuple[str, ...] = (
    "I hear you, [that happens to many people|that sounds familiar].",
    "[Noted|Understood|I see]. [Take your time.|No rush.|Let's keep it short.]",
    "That is a fair [question|thought].",
    "It depends on [a few|several] things, [the price|the place|the time] among them.",
    "[No worries|That's all right], we can go through it together.",
)

WELCOMES: tuple[str, ...] = (
    "You're welcome! [Let me know how it goes.|Enjoy!|Anything else?]",
    "[I'm glad|Good to hear] that it helps. Feel free to ask [again|anything else].",
    "My pleasure. Good luck with {thing}!",
)

#: Answers to frames and blocks by kind; the first person and quotation marks are the assistant's as well.
WORKINGS: dict[str, tuple[str, ...]] = {
    "translation": (
        "In {language} you would put the verb at the end, and the polite form fits better here.",
        "A native speaker of {language} would shorten it. The literal version works too, but it sounds stiff.",
    ),
    "grammar": (
        'The sentence is correct. A more formal version would begin with "It was [in {month}|in {year}] that I".',
        "I would only change the order, the tense is right. You could leave out [one|the last] comma.",
    ),
    "style": (
        "It [sounds|reads] [natural|fine] to me, the tone is [dry|warm|a little stiff]. I would cut [two|three] words.",
        "Yes, that works. People say such things, and nobody will ask [whether|if] it is true.",
        '"I have seen worse," I would let somebody answer, it keeps the rhythm.',
    ),
    "play": (
        '"You came back," I say and put down my cup. "I kept your {item} and fed your {animal} for {few} years. Sit down."',
        'In character: "And who told you that? I was in {city} with my {kin} the whole time!"',
        "First question: what did you do before {year}? Second: who is {name}? Third: what are you hiding from me?",
    ),
    "draft": (
        'Here is a version that you could use: "I am pleased to write to you. I have worked as {a job} for {some} years, and '
        'I would love to bring that to {company}."',
        'Draft: "Dear all, I joined this house in {year}, and my {kin} still asks me why. I am proud of my team."',
    ),
    "paste": (
        "In short: the {service} costs {price}, the change comes on {weekday}, and you have {some} days to object.",
        "Summary: {name} leads the project, {percent} of the budget is spent, and the next meeting is on {weekday}.",
        "The sums are right, apart from the second line, which should be {price}.",
    ),
    "homework": (
        "Step 1: {some} minus {digit} leaves the rest.\nStep 2: add the new ones.\nStep 3: divide by {digit2}. The result is "
        "{many}.",
        "Write it as an equation first: {digit} x + {some} = {many}. Then solve for x and check the units.",
    ),
}
