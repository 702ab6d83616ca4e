# ruff: noqa: E501 -- one sentence or list a line
"""What people chat about with an assistant: requests, small talk, and advice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """One subject of chat.

    Parameters
    ----------
    name
        Short label.
    things
        What it is about; used in general sentences.
    requests
        What a user asks for.
    tips
        What the assistant advises, one line each.
    """

    name: str
    things: tuple[str, ...]
    requests: tuple[str, ...]
    tips: tuple[str, ...]


TOPICS: tuple[Topic, ...] = (
    Topic(
        "cooking",
        ("bread baking", "weeknight dinners", "knife skills", "meal planning"),
        (
            "Can you give me a [simple|quick|good] recipe for {dish}?",
            "What can I serve with {dish}?",
            "How do I keep {dish} from drying out?",
            "What could I use instead of {food}?",
            "How long does {dish} keep in the fridge?",
        ),
        (
            "Let the dough rest for at least {minutes} minutes before shaping.",
            "Salt the water generously and taste as you go.",
            "Roast the vegetables at a high temperature so that they brown.",
            "Toast the spices in a dry pan until they smell strong.",
            "Keep a jar of stock in the freezer for busy evenings.",
            "Use a heavy pan and do not crowd it.",
        ),
    ),
    Topic(
        "garden",
        ("container gardening", "composting", "pruning", "raised beds"),
        (
            "When is the right time to plant {plant}?",
            "How often should I water {plant}?",
            "What keeps snails away from {plant}?",
            "Which plants get along with {plant}?",
            "Is it too late in the year for {plant}?",
        ),
        (
            "Water early in the day, at the root.",
            "Leave about {some} inches between the plants.",
            "Mulch with straw to hold the moisture.",
            "Turn the compost every two weeks.",
            "Pinch out the side shoots once they appear.",
            "Test the soil before adding any fertilizer.",
        ),
    ),
    Topic(
        "travel",
        ("packing light", "train travel", "city breaks", "travel insurance"),
        (
            "What should I see in {city}?",
            "Can you plan [two|three|four] days in {city}?",
            "Is {city} worth a visit in {month}?",
            "What is the best way to get around in {city}?",
            "What should I pack for {city}?",
        ),
        (
            "Book the popular museums a few days ahead.",
            "A day pass for the tram pays off after {few} rides.",
            "Roll the clothes and keep one set in the hand luggage.",
            "Check whether your card charges a foreign fee.",
            "Markets are liveliest before noon.",
            "Leave one afternoon without a plan.",
        ),
    ),
    Topic(
        "fitness",
        ("strength training", "stretching", "endurance", "recovery"),
        (
            "Can you make me a plan for {sport}?",
            "How do I warm up before {sport}?",
            "What should I eat before {sport}?",
            "How many rest days are sensible with {sport}?",
            "Which stretches help after {sport}?",
        ),
        (
            "Increase the load by no more than {few} percent a week.",
            "Warm up for {few} minutes with easy movement.",
            "Sleep matters more than any supplement.",
            "Keep one session a week really easy.",
            "Breathe out on the effort.",
            "Stop if the pain is sharp.",
        ),
    ),
    Topic(
        "home",
        ("small repairs", "storage", "paint", "decluttering"),
        (
            "How do I store things in a small {room}?",
            "What kind of paint works in {a room}?",
            "How can I make {a room} look bigger?",
            "Do I need a permit to change {a room}?",
            "How do I clean {a item} properly?",
        ),
        (
            "Measure twice and write the numbers on the wall with pencil.",
            "Two thin coats look better than one thick one.",
            "Use the height of the room, shelves can go to the ceiling.",
            "Label the boxes on two sides.",
            "Turn off the water before you touch the fittings.",
            "Give away what was not used for {few} months.",
        ),
    ),
    Topic(
        "music",
        ("practice routines", "home recording", "sight reading", "concerts"),
        (
            "How do I practice the {instrument} without annoying anyone?",
            "What are good first pieces for the {instrument}?",
            "Which bands sound like {band}?",
            "How do I record the {instrument} at home?",
            "How often should {a instrument} be serviced?",
        ),
        (
            "Short daily sessions beat one long one.",
            "Set the metronome {few} beats slower than feels right.",
            "Record yourself and listen the next day.",
            "Start with the hard bar, not with the beginning.",
            "Hang a blanket behind the microphone.",
            "Play along with a slow recording.",
        ),
    ),
    Topic(
        "books",
        ("reading habits", "book clubs", "short stories", "libraries"),
        (
            "Can you recommend [a novel|something] like {book}?",
            "What is {book} about, without spoilers?",
            "How do I read more after work?",
            "What are good questions for a book club on {book}?",
            "Is there a good introduction to {genre}?",
        ),
        (
            "Keep the book where the phone usually lies.",
            "Twenty pages a day make about {some} books a year.",
            "Give a book fifty pages before you drop it.",
            "Alternate something light with something long.",
            "Write one sentence about each chapter.",
            "Ask the library for an interlibrary loan.",
        ),
    ),
    Topic(
        "work",
        ("meetings", "time management", "feedback", "interviews"),
        (
            "How do I prepare for an interview as {a job}?",
            "How do I ask for a raise politely?",
            "What is a good agenda for a [team|project|budget] meeting?",
            "How do I say no to extra work?",
            "How can I get better at giving feedback?",
        ),
        (
            "Block the first hour of the day for the hardest task.",
            "Send the agenda {few} days ahead.",
            "Name one result that you are proud of, with a figure.",
            "Ask what success looks like after three months.",
            "Keep the update under {minutes} minutes.",
            "Write down who does what by when.",
        ),
    ),
    Topic(
        "money",
        ("budgeting", "taxes", "saving", "insurance"),
        (
            "How much should go into an emergency fund?",
            "What is the difference between a fixed and a variable rate?",
            "How do I compare two insurance offers?",
            "Is it better to lease or to buy {a item}?",
            "How do I keep track of small expenses?",
        ),
        (
            "Put the rent, the savings and the bills on standing orders.",
            "Compare the yearly cost, not the monthly one.",
            "Keep {few} months of expenses in cash.",
            "Read what the policy leaves out before what it covers.",
            "Round every purchase up and save the difference.",
            "Review the subscriptions once a year.",
        ),
    ),
    Topic(
        "pets",
        ("pet food", "leash training", "vet visits", "grooming"),
        (
            "How do I get {a animal} used to a carrier?",
            "What should {a animal} eat?",
            "How often does {a animal} need a checkup?",
            "How do I stop {a animal} from scratching the sofa?",
            "Are there toys that keep {a animal} busy?",
        ),
        (
            "Reward the calm moments, ignore the rest.",
            "Introduce new food over {few} days.",
            "Keep the water bowl away from the food.",
            "A tired animal chews less.",
            "Brush the coat before the bath.",
            "Give it a quiet corner of its own.",
        ),
    ),
    Topic(
        "crafts",
        ("yarn", "woodwork", "drawing", "glazes"),
        (
            "What do I need to start with {craft}?",
            "How do I fix a mistake in {craft}?",
            "Can you suggest a small {craft} project for a weekend?",
            "Where do people sell {craft} online?",
            "How long does it take to get decent at {craft}?",
        ),
        (
            "Buy the cheap practice material first.",
            "Sand with the grain, and finish with a fine paper.",
            "Make a test piece for every new color.",
            "Keep the tools dry and sharp.",
            "Work on {few} small pieces rather than one big one.",
            "Photograph each step so that you can repeat it.",
        ),
    ),
    Topic(
        "health",
        ("sleep", "posture", "headaches", "screen breaks"),
        (
            "What helps against {ailment}?",
            "How do I sit properly at a desk?",
            "What should I ask {a specialist}?",
            "How much sleep does an adult need?",
            "Are there exercises against {ailment}?",
        ),
        (
            "Keep the same bedtime on all days.",
            "Look into the distance every {minutes} minutes.",
            "Write down when it starts and what you did before.",
            "See a doctor if it lasts longer than {few} days.",
            "Drink a glass of water before the coffee.",
            "Put the screen at eye level.",
        ),
    ),
)

#: Small talk in the first person that tells nothing a later question could ask for.
PADS: tuple[str, ...] = (
    "I've been [meaning|trying] to get better at {thing}.",
    "I [really|honestly|] don't know much about {thing} [yet|].",
    "I feel [pretty|a bit|rather] {mood} [about it|today|].",
    "It's been a long week.",
    "I [think|guess] I [worry|think] too much about {thing}.",
    "I'm [quite|really|] enjoying it so far.",
    "My head is full of {thing} [lately|at the moment|].",
    "I want to do it right this time.",
    "I [love|like] how simple that sounds!",
    "I was thinking about {thing} [again|today|this morning].",
    "I need some ideas for {thing}.",
    "My [plan|hope|idea] is to keep it simple.",
    "You were [really|] helpful [last time|before|].",
    "I wonder if I am overthinking my approach.",
    "We will see how it goes.",
    "I [always|often] forget the basics.",
    "Sorry if I asked you that before.",
    "I'm looking for something that I can start right away.",
    "I never thought I would care so much about {thing}.",
    "Money is not the main point for me.",
    "I just want to understand it.",
    "I'm [excited|nervous|curious] to try it!",
)

#: How a remark is led in; facts and empty remarks draw from the same list.
LEADS: tuple[str, ...] = (
    "By the way, ", "Also, ", "Oh, and ", "Anyway, ", "Speaking of {thing}, ", "Actually, ", "Just so you know, ",
    "I should mention: ", "Well, ", "Before I forget: ", "For context, ", "Funny thing, ",
)  # fmt: skip

THANKS: tuple[str, ...] = (
    "Thanks, [that helps|that's great|this is useful][!|.]",
    "[Great|Perfect|Good], thank you[!|.]",
    "That [makes sense|sounds good|is a good point][!|.]",
    "Okay[,|.] got it.",
    "Those are [great|good|helpful] [tips|ideas|suggestions], thanks[!|.]",
    "Hm, I see[.|, interesting.]",
    "Wow, I [had no idea|didn't know that]!",
    "Yes, [exactly|please|that one].",
)

FOLLOW_UPS: tuple[str, ...] = (
    "Can you say more about the [first|second|third|last] one?",
    "What else should I keep in mind?",
    "Which of these would you start with?",
    "Is there a [cheaper|faster|simpler] way?",
    "How long does that usually take?",
    "What are common mistakes with {thing}?",
    "Could you put that into a short list?",
    "What would be a realistic first step?",
    "Do you have any other tips for {thing}?",
)
