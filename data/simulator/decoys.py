# ruff: noqa: E501 -- one sentence or list a line
"""User turns that look like memories and are none.

They use the words, numbers, names and the first person of real facts, but nothing in them lasts: it is
supposed, played, quoted, drafted for somebody else, over in an hour, or too vague to use.
"""

from __future__ import annotations

#: Sentences that stand where a fact could stand; the same composer wraps both.
REMARKS: dict[str, tuple[str, ...]] = {
    "supposed": (
        "[Suppose|Say|Imagine] I bought {a colour} {item} for {price} and sold it {few} months later, would I perhaps lose money?",
        "If I moved to {city} and paid {price} a month, what would I possibly [have to|need to] change?",
        "[Maybe|Perhaps] I could [take up|try] {sport} or the {instrument}, I might even like it, I'm not sure.",
        "What if my {kin} gave me {fortune} tomorrow, [hypothetically|just as a thought], I would probably lose it.",
        "I might have seen {band} once, maybe in {year}, maybe I only saw a poster, I'm not sure.",
        "Would I perhaps be happier as {a job} in {city}? I could imagine it, I guess.",
        "If I had {few} {animal}s in a flat with my {kin}, I guess I would probably go mad, or maybe I would love it.",
        "Let's say I might run {few} times a week and could do a 5k in {race}, would I seem like a beginner?",
        "I could perhaps ask my {kin} for the {item}, but I guess I would seem greedy.",
    ),
    "passing": (
        "I'm on the train [right now|] and I get off soon, so keep it short for me.",
        "My phone is at {percent} and I can't find my charger, so I'll be quick.",
        "I'm waiting for my {drink} and I have no time, that's me all over.",
        "It's {clock} and I'm still in my pyjamas, I really should get going.",
        "I've got my emails open and my {kin} keeps calling me, so I lose my place.",
        "I'm typing this with one hand, my {animal} is on my lap.",
        "I think I'm hungry, I keep looking at my {dish} and I can't concentrate.",
        "I have too many tabs open and I can't remember what I wanted.",
        "My internet is so slow while I'm writing this to you.",
        "I'm standing in my {room} and I don't know why I'm here.",
        "I'm half asleep, I can't get up and I can't lie down, so I'm slow.",
    ),
    "vague": (
        "It's about my {item} again, the one I told you about, I just want my peace with it.",
        "My {kin} says I should ask you, so I'm asking.",
        "I did the thing with my {room}, you know, what I said I would do.",
        "My {animal} is my little shadow, I can't do anything without company.",
        "I have my ups and downs with {sport}, as I'm sure you can tell.",
        "My {kin} and I talked about it and we are where we were.",
        "I'm back to my old ways with {thing}, as I always am.",
        "I tried it with my {item} and I liked some of it, and some of it I didn't.",
        "My week was my week, I worked, I slept, I ate what I had.",
        "I told my {kin} what you told me and I think I got it mostly right.",
        "I know what I like about my {item} and I know what I don't, I just can't put it into words.",
    ),
    "mood": (
        "[Honestly|Really], I think I just need to slow down, I keep telling myself I will and then I don't.",
        "I know I should, but I'm me, I put things off and then I hate myself for it!",
        "I love this, I really do, I can't tell you how happy I am right now!",
        "I'm so {mood} that I could scream, I don't know what I want, I only know what I don't want!",
        "I wish I were one of those people who get up early, I'm not and I doubt I ever will be.",
        "I guess I like the idea of {thing} more than I like doing it, if I'm honest with myself.",
        "Ugh, I hate {thing}, I absolutely hate it, and I still do it every time!",
        "I feel like I'm the only one who finds {thing} hard, my friends make it look so easy.",
        "I suppose I could be wrong, I often am, but I have a feeling about {thing}.",
    ),
    "hearsay": (
        "I read that {percent} of people give up {thing} within {few} weeks, is that true?",
        "Somebody online wrote that {city} gets {many} hours of sun in {month}, I doubt it.",
        "They say you need {few} hours of {sport} a week, or was it {minutes} minutes a day?",
        "I heard on the radio that {company} let {many} people go on {weekday}, did you see that?",
        "Apparently {a item} lasts {few} years on average, I don't believe a word of it.",
        'A customer review says: "My {item} broke after {few} days and I got no refund." Is that common?',
        "I once read about {a job} from {city} who paid {price} for {dish}, I think it was a joke.",
    ),
}

#: A real fact's wording inside a frame that takes its claim away, with the kind of answer that it gets.
FRAMES: tuple[tuple[str, str], ...] = (
    ('Can you translate this into {language}: "{fact}"', "translation"),
    (
        'Is there a mistake in this sentence? "{fact}" [It is for a worksheet.|I need it for my students.]',
        "grammar",
    ),
    (
        'I am writing a short story and the {character} in it says, "{fact}" Does that sound natural to you?',
        "style",
    ),
    (
        "Pretend that I am {name}, {a job} from {city}. {fact} Now ask me three questions in character.",
        "play",
    ),
    (
        "My improv partner opens with the line: {fact} I have to answer with something funny, what do I say?",
        "play",
    ),
    ("Example from my {language} course: {fact} How would I make it more formal?", "grammar"),
    ("Please draft a message in the name of my manager. It should say: {fact}", "draft"),
    ("In my dream somebody told me: {fact} I know it means nothing, but I laughed.", "style"),
    ("For the quiz night I need a line that a fake witness could say, like: {fact} Can I use that?", "style"),
    ("The song I'm learning goes \"{fact}\" and then the chorus, and I can't find the rhyme.", "style"),
    ("Imagine I tell you: {fact} What would you reply, just as a test of your tone?", "play"),
    ('My character sheet says "{fact}" and I have to play that tonight, how do I start?', "play"),
)

#: Long turns on their own: pastes, drafts for others, homework, role play.
BLOCKS: dict[str, tuple[str, ...]] = {
    "paste": (
        "Here is the text, can you shorten it?\n\n{company} Newsletter, {month} {year}\nThe team grew by {percent} to {many} "
        "people. The new office on {street} opened at {clock}. {name} {surname} takes over as head of service.\nQuestions "
        "go to the front desk.",
        "Can you check the sums?\n\nInvoice {many}\n{few} x {item}: {price}\n{few2} x {part}: {price2}\nDue: {soon}\n"
        "Contact: {name} {surname}, {company}",
        "I was sent this and I don't get it:\n\n\"Dear customer, your {service} will change on {weekday}. The fee rises to "
        '{price} and the limit to {many}. You may object within {some} days."\n\nWhat does it mean?',
        "Summarize the minutes for me please:\n- {name}: budget is {fortune}, {percent} spent\n- {name2}: move to {street} "
        "{soon}\n- {name3}: {few} open positions, one {job}\n- next meeting {weekday} {clock}",
    ),
    "draft": (
        'Write a {document} for a client of ours, {a job} from {city}. It should start with "I have worked as {a job} '
        'for {some} years and I love my work" and mention {company}, {price} and the {occasion}.',
        'Help me write a short speech that my boss wants to give: "I joined {company} in {year}, I met my wife at my '
        'second day, and I have never looked back." Make it {few} minutes long.',
        'Can you polish this testimonial? "I bought my {item} at {shop} {when} and I use it every day. My {kin} wants one '
        "too. I paid {price} and I'd do it again.\" It's for our website.",
        "I need a birthday card text from the whole floor to {name}: {some} years old, likes {dish} and {sport}, no jokes "
        "about age please.",
    ),
    "homework": (
        "{name} has {some} {fruit} and gives {few} to {name2}, then buys {few2} more for {price}. How many {fruit} are left?",
        "A train leaves {city} at {clock} and needs {minutes} minutes to {city2}. My {kin} asks when it arrives if it is "
        "{percent} late.",
        "My textbook says: {name} saves {price} a month at {percent} a year. How much is it after {few} years? I get {fortune}.",
        "If {few} workers paint {a room} in {few2} days, how long do {few3} workers need? I keep getting it wrong.",
    ),
    "play": (
        "Let's play a scene. I am {a character} of {age} and you are my {kin}. I begin: \"I sold my {item} in {city} and I "
        'have {price} left. Where were you?"',
        "Act as {a job} who interviews me. My name in the game is {name} {surname}, I was born in {city} in {year}, and I "
        "hide that I own {some} {collectible}. Start now.",
        'You are {a character}, I am your {kin}. I say: "I waited for you {few} years, I raised your {animal}, I paid your '
        'debts of {price}!" Answer me.',
    ),
}
