"""Names, order and meaning of every column of the lexical scan.

Every column is a count over the head of one text unless its meaning says otherwise. ``GROUPS`` and
``SUPPORT_GROUPS`` name the word files that each language folder holds (``lexicons/<language>/<group>.txt``);
``SHAPES`` are computed from punctuation, numbers and the neighbourhood of words. "Within k after" means: in
the same sentence, at most k tokens later, where a token is a word or a number. A phrase begins at its first
word.
"""

from __future__ import annotations

#: Word groups with a column: name -> what the column counts (single words and phrases of that file).
GROUPS: dict[str, str] = {
    "first_person": "first-person singular words, any case: I, me, my, myself",
    "possessive_first": "first-person possessives: my, mine",
    "subject_first": "first-person singular subjects: I, I'm, I've",
    "first_plural": "first-person plural words: we, our, us",
    "second_person": "second-person words: you, your",
    "past_tense": "irregular and auxiliary past forms: was, had, bought (regular ones: regular_past)",
    "time_words": "time relative to now, and durations: yesterday, ago, weeks",
    "date_words": "months, weekdays, seasons, holidays",
    "preference": "likes and dislikes: love, prefer, favorite, hate",
    "value_words": "what is held dear: important, honest, faith, family, privacy",
    "goal_words": "wants, plans and needs: want, plan, deadline",
    "hedges": "uncertainty: maybe, probably, I think",
    "intensifiers": "degree words: really, extremely",
    "relations": "people and animals of one's life: mom, partner, boss, dog",
    "asides": "asides: actually, also, anyway",
    "acknowledgements": "thanks and assent: thanks, great, ok",
    "number_words": "numbers in words: two, dozen, half",
    "units": "units of measure: miles, minutes, dollars",
    "recommendations": "words of advice: recommend, suggest, consider",
    "refusals": "refusal and apology: sorry, cannot, unable, as an ai",
    "boilerplate": "assistant filler: overall, ensure, crucial",
    "request_words": "words that open a request: can, write, explain, how",
    "question_words": "question words: what, how, when",
    "life_events": "past verbs of experience: bought, attended, moved, adopted",
    "auxiliaries": "auxiliaries of one's own past and present: have, had, been, I've",
    "negations": "negations: not, never, don't",
    "function_words": "the commonest function words: the, of, to",
    "retraction": "single words that take something back: cancelled, stopped, switched",
    "retraction_phrases": "phrases that take something back: no longer, used to, changed my mind",
    "by_the_way": "phrases that introduce an aside: by the way",
}

#: Word groups without a column, used by the shapes.
SUPPORT_GROUPS: dict[str, str] = {
    "_months": "month names and their abbreviations, for calendar_dates",
    "_ordinals": "suffixes of ordinal numbers (the th of 5th), for calendar_dates",
    "_clock": "words that make the number before them a time (pm, o'clock), for clock_times",
    "_not_past": "words shaped like a regular past form that are none (indeed), for regular_past",
}

#: Shape columns: name -> meaning.
SHAPES: dict[str, str] = {
    "bytes": "UTF-8 bytes of the head (after folding, see scan_bytes)",
    "words": "words",
    "numbers": "numbers; 1,200.50 and 12/05/2023 and 7:30 are one each",
    "capitals": "capitalised words of two letters or more inside a sentence, first person left out",
    "uppercase": "upper-case letters",
    "long_words": "words of eight letters or more (an apostrophe counts as a letter)",
    "mean_word_length": "mean letters a word (not a count); 0 without words",
    "exclamations": "exclamation marks",
    "question_marks": "question marks",
    "newlines": "line feeds",
    "list_lines": "lines that begin with a bullet or an item number",
    "money_signs": "signs of dollar, euro, pound, yen, rupee",
    "quotes": "double quotation marks",
    "code_chars": "characters of code: { } ; = <",
    "emoji": "emoji and pictographs (skin tones left out)",
    "sentences": "sentences that hold a word",
    "question_sentences": "sentences that end with a question mark",
    "statements": "sentences that neither end with a question mark nor open with a request word",
    "request_sentences": "sentences that open with a request word",
    "opens_with_request": "1 if the first word is a request word",
    "opens_with_i": "1 if the first word is a first-person singular subject",
    "opens_with_acknowledgement": "1 if the first word is an acknowledgement",
    "ends_with_question": "1 if the head's last visible character is a question mark",
    "regular_past": "regular past forms by shape (English: five letters or more in -ed)",
    "i_past_tense": "past forms (either kind) within 3 after a first-person subject",
    "i_life_event": "life events within 3 after a first-person subject",
    "my_relation": "relations within 2 after a first-person possessive",
    "my_noun": "first-person possessives followed by a word that is no function word",
    "number_units": "quantities: unit words right after a number, and numbers with a money or percent sign",
    "calendar_dates": "dates: 12/05/2023, 2023-05-12, May 5th, 5th of May",
    "clock_times": "times of day: 7:30, 7 pm",
    "positive_valence": "sum of the positive valences of words (1 to 4 each)",
    "negative_valence": "sum of the negative valences of words, as a positive number",
    "absolute_valence": "positive_valence + negative_valence",
    "max_valence": "largest absolute valence of a word (not a count)",
}

#: All columns in order.
COLUMNS: tuple[str, ...] = (*GROUPS, *SHAPES)
