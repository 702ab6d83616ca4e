# ruff: noqa: E501 -- one sentence or list a line
"""Sessions in which the assistant is a tool: code, essays, questions about the world, drafts, games."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of work.

    Parameters
    ----------
    openers
        How the user begins.
    follow_ups
        What the user asks next.
    replies
        What the assistant delivers; one for each opener, in the same order.
    things
        What general sentences call it.
    """

    openers: tuple[str, ...]
    follow_ups: tuple[str, ...]
    replies: tuple[str, ...]
    things: tuple[str, ...]


TASKS: tuple[Task, ...] = (
    Task(
        (
            "My {lang} script stops with an error and I don't see why:\n\ndef {function}(rows):\n    total = {digit}\n    for i in "
            "range({many}):\n        total += rows{lb}i{rb}\n    return total\n\nI think it's the index, can you fix my code?",
            "Write a {lang} function {function} that reads {many} rows, skips the first {few}, and returns the mean.",
            "I get this when I run my tests:\n\nTypeError: {function}() takes {few} arguments but {few2} were given\n\nWhat did I "
            "do wrong?",
            "SELECT name, count(*) FROM orders WHERE total > {many} GROUP BY name;\n\nI need the {few} largest only, how do I do "
            "that?",
        ),
        (
            "It still fails at line {some}, I tried it twice.",
            "Can you add a test for my empty case?",
            "I'd like it without the loop, what would you write?",
            "How much memory does it need with {many} rows?",
            'I changed it to x = {lc}"a": {digit}{rc}; and now I get an empty list, why?',
        ),
        (
            "The loop runs past the end. Replace range({many}) with range(len(rows)) and the error is gone.",
            "Try this:\n\ndef {function}(rows):\n    kept = rows{lb}{digit}:{rb}\n    return sum(kept) / len(kept)\n\nThis skips the first rows and "
            "works for any length.",
            "The function takes {few} arguments, so remove the extra one in the call at line {some}.",
            "Order by the total and add LIMIT {digit}. With {many} rows it needs about {some} milliseconds.",
        ),
        ("the script", "the function", "error handling"),
    ),
    Task(
        (
            "Write an essay of {many} words on {science}, with {few} arguments and a conclusion.",
            "Explain {science} to a ten-year-old in {few} sentences.",
            "Give me an outline on {era} for a talk of {minutes} minutes.",
            "Compare {era} and {era2} in a table with {few} rows.",
        ),
        (
            "Make it shorter, about {many} words.",
            "Add {few} sources and a date for each.",
            "I don't understand the part about {science}, can you explain that to me again?",
            "Rewrite the second paragraph in a lighter tone.",
            "My teacher wants {few} more examples, I only have one.",
            "Continue.",
        ),
        (
            "The short version: {science} needs energy, a start and a limit. The long version fills libraries, and I would build the "
            "essay on {few} of them.",
            "To understand {science}, imagine {some} {fruit} in a bowl. Each of them pulls on the others, and the whole settles "
            "into a pattern. Nothing in it is planned.",
            "1. Introduction ({digit} minutes)\n2. Background of {era}\n3. Two examples, {city} and {city2}\n4. Conclusion and "
            "questions",
            "In {era}, trade grew within {few} generations, and towns such as {city} took part in it. In {era2} it was the "
            "other way round. Historians name the price of grain, better roads, and new crafts.",
        ),
        ("the essay", "the outline", "the argument"),
    ),
    Task(
        (
            "Write an email to {name} {surname} at {company}, subject: delivery of {few} {item}s, {percent} discount, due {soon}.",
            "I need a product text for {a quality} {item}, {price}, {colour}, {many} words, and it should sound like me.",
            "Draft an ad for {shop} in {city}: opening on {weekday} at {clock}, {percent} off all {collectible}.",
            "Please write a reference for {name}, {a job} at our company from {year} on, reliable, liked by all.",
        ),
        (
            "Less formal please, I would never say it like that.",
            "Put my price first and drop the rest.",
            "Give me {few} variants of the first line.",
            "I want it to sound as if I wrote it myself.",
            "Translate it to {language}.",
        ),
        (
            "Dear {name},\n\nI am writing about the delivery of {few} {item}s. We can offer {percent} off if you confirm {soon}.\n\n"
            "Kind regards",
            "Meet the {item} that I always wanted: {quality}, {colour}, and made to last. Yours for {price}.",
            "Opening day at {shop}! Come by on {weekday} from {clock}. We have {many} {collectible} and fresh {drink}.",
            "{name} worked for us for {few} years as {a job}. I could always rely on the quality of the work.",
        ),
        ("the email", "the text", "the tone"),
    ),
    Task(
        (
            "Let's play a game: I'm {a character}, I have {some} coins and {a animal}. You tell the story and I decide.",
            "Write a story in which {a character} from {city} finds {a item} in {year}.",
            "You are my {kin} in a play. I come home after {few} years. Begin the dialogue.",
            "I want to practise {language}: you are the waiter, I order {dish} and {drink}.",
        ),
        (
            "I open my bag, take {few} coins and give them to my {animal}.",
            "I tell the {character} that I was born in {city} and that I never lie.",
            "I go left, I light my lamp and I count to {some}.",
            'Now I say: "I sold my {item} for {price}, and I would do it again!"',
            "Continue the story, but in the voice of my {kin}.",
        ),
        (
            "You have {some} coins left. To the north lies {city}, to the south a road that nobody remembers. What do you do?",
            'The {character} of {city} looks up. "I have waited {some} years for this," he says, and lifts {a item} onto the table.',
            '"I know you," she says. "You are the one who sold the {item}." Outside it begins to rain.',
            '"Good evening! A table for {few}? I can recommend the {dish}, my {kin} makes it."',
        ),
        ("the story", "the scene", "the dialogue"),
    ),
    Task(
        (
            "What is the capital of the country where {city} lies, and how many people live there?",
            "How does {science} work?",
            "Who was the most important figure of {era}?",
            "How many {fruit} fit into a box of {some} by {few} inches?",
            "What is {percent} of {many}?",
        ),
        (
            "Are you sure? I thought it was {many}.",
            "And what about {era}?",
            "How do you know that?",
            "What is the source for {percent}?",
            "I always mix that up, can you give me a trick to remember?",
        ),
        (
            "About {many} thousand, according to figures from {year}. The number has changed since.",
            "{science} works in {few} steps: something warms up, something moves, and something cools down again.",
            "{era} had several such figures, and {name} {surname} of {city} is the one named most often.",
            "I would guess {many}, if the {fruit} are of the usual size and lie close together.",
            "The answer is {some}. To check it, divide {many} by {digit} and compare.",
        ),
        ("the question", "the figures", "the background"),
    ),
)
