# ruff: noqa: E501 -- one sentence or list a line
"""The word lists that fill the slots. Invented names throughout; only places are real."""

from __future__ import annotations

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


WORDS: dict[str, tuple[str, ...]] = {
    "name": _split(
        "Nora, Elias, Priya, Tomas, Ingrid, Malik, Yuki, Carmen, Owen, Leila, Bruno, Hannah, Kofi, Mei, Rafael, "
        "Sanne, Dmitri, Amara, Julian, Freya, Omar, Lucia, Henrik, Tessa, Arjun, Colette, Mateo, Wanda, Felix, Zara"
    ),
    "surname": _split(
        "Okafor, Lindqvist, Marsh, Tanaka, Oyelaran, Brandt, Castellano, Whitlock, Novak, Fairley, Hussain, Petrov, "
        "Delgado, Achterberg, Moreau, Quigley, Sandoval, Thorne, Varga, Yamamoto"
    ),
    "kin": _split(
        "sister, brother, mom, dad, wife, husband, daughter, son, cousin, niece, nephew, aunt, uncle, grandmother, "
        "grandfather, roommate, best friend, neighbor, coworker, partner"
    ),
    "city": _split(
        "Lisbon, Bergen, Kyoto, Denver, Ghent, Valencia, Portland, Tallinn, Montreal, Krakow, Seville, Galway, "
        "Austin, Trieste, Uppsala, Hobart, Chicago, Riga, Porto, Savannah, Leeds, Nashville, Bologna, Utrecht"
    ),
    "quarter": _split(
        "the harbor district, the old town, Eastfield, the north side, Millbrook, the university quarter, Cedar Heights, "
        "the canal district, Fairmount, Southgate"
    ),
    "colour": _split("red, navy, green, silver, orange, black, white, teal, yellow, grey, blue, maroon"),
    "item": _split(
        "road bike, camera, espresso machine, sewing machine, tent, record player, laptop, acoustic guitar, bookshelf, "
        "kayak, electric scooter, telescope, tablet, stand mixer, winter coat, desk lamp, vacuum cleaner, sofa, "
        "standing desk, keyboard, suitcase, hiking pack, watch, printer, lawn mower, pickup truck, hatchback, van"
    ),
    "part": _split(
        "battery, chain, brake pads, screen, filter, left hinge, fan belt, power cord, back wheel, gasket, front light, "
        "pump, thermostat, handle, strings"
    ),
    "animal": _split("dog, cat, rabbit, parrot, puppy, kitten, tortoise, hamster, greyhound, beagle, tabby"),
    "petname": _split("Biscuit, Moss, Pepper, Waffles, Juno, Clover, Bandit, Olive, Pickle, Fig, Rusty, Nimbus, Toffee"),
    "job": _split(
        "nurse, paralegal, carpenter, data analyst, pastry chef, bus driver, librarian, product designer, plumber, "
        "pharmacist, translator, teacher, site manager, lab technician, copywriter, physiotherapist, florist, welder"
    ),
    "brandhead": _split(
        "Harrow, Bluefin, Larkspur, Copperline, Northgate, Juniper, Tidewater, Ashdown, Meridian, Foxglove, Pinecrest, "
        "Sable, Willow, Redstone, Lantern, Orchard"
    ),
    "shopkind": _split("Outfitters, Hardware, Market, Goods, Traders, Supply, Books, Cycles, Home, Outlet"),
    "firmkind": _split("Logistics, Health, Analytics, Foods, Partners, Systems, Studio, Energy, Insurance, Labs"),
    "streethead": _split("Mill, Harbor, Chestnut, Bridge, Tannery, Orchard, Station, Kings, Lark, Granary, Abbey, Ferry"),
    "venuekind": _split("Theater, Hall, Arena, Pavilion, Ballroom, Garden, Club, Warehouse"),
    "bandhead": _split("Velvet, Hollow, Paper, Distant, Amber, Midnight, Salt, Broken, Northern, Silent, Glass, Electric"),
    "bandtail": _split("Foxes, Harbors, Lanterns, Rivers, Parade, Orchestra, Sparrows, Engines, Pilots, Weather"),
    "booktail": _split("Cartographer, Orchard, Winter, Locksmith, Tide, Inheritance, Apprentice, Garden, Letter, Bridge"),
    "eateryhead": _split("The Copper, Little, Casa, The Salty, Blue, Old, Corner, Golden, The Crooked, Green"),
    "eaterytail": _split("Kettle, Lemon, Anchor, Spoon, Fig, Table, Oven, Heron, Radish, Tomato"),
    "dish": _split(
        "sourdough, mushroom risotto, lemon tart, lentil soup, dumplings, apple crumble, chicken tagine, focaccia, "
        "black bean chili, carrot cake, pad thai, cardamom buns, shakshuka, ramen, peach cobbler, fish tacos"
    ),
    "food": _split(
        "cilantro, shellfish, peanuts, olives, blue cheese, mushrooms, coconut, eggplant, anchovies, walnuts, oat milk, "
        "dark chocolate, goat cheese, pickles, tofu"
    ),
    "drink": _split("black coffee, green tea, sparkling water, oat lattes, ginger tea, cold brew, chai, iced tea"),
    "plant": _split(
        "tomatoes, lavender, zucchini, basil, dahlias, strawberries, peas, rosemary, tulips, kale, peppers, sunflowers"
    ),
    "sport": _split(
        "yoga, climbing, swimming, spin class, boxing, pilates, tennis, rowing, salsa, badminton, running, volleyball"
    ),
    "craft": _split(
        "pottery, watercolor, woodworking, knitting, calligraphy, bookbinding, photography, screen printing, weaving"
    ),
    "instrument": _split("cello, piano, banjo, ukulele, violin, drums, clarinet, accordion, flute"),
    "language": _split("Spanish, Japanese, French, German, Portuguese, Korean, Italian, Swedish, Arabic"),
    "collectible": _split(
        "vinyl records, fountain pens, board games, vintage postcards, houseplants, comic books, enamel pins, teacups, "
        "old maps, film cameras"
    ),
    "charity": _split(
        "food bank, animal shelter, community garden, library sale, beach cleanup, soup kitchen, school fair, blood drive"
    ),
    "occasion": _split("birthday, anniversary, graduation, housewarming, retirement party, wedding"),
    "subject": _split("statistics, first aid, bookkeeping, web design, sign language, project management, nutrition"),
    "ailment": _split("back pain, migraine, hay fever, knee injury, insomnia, low iron, tennis elbow, sinus infection"),
    "specialist": _split("dentist, physical therapist, dermatologist, eye doctor, cardiologist, orthodontist, allergist"),
    "service": _split("meal kit, streaming plan, gym membership, audiobook plan, coffee subscription, cloud storage"),
    "room": _split("kitchen, attic, bathroom, garage, spare room, hallway, balcony, basement"),
    "genre": _split("mystery novels, documentaries, jazz records, science fiction stories, folk songs, memoirs, stand-up shows"),
    "shunned": _split("horror films, pop ballads, fantasy epics, reality shows, spy thrillers, musicals, westerns"),
    "lodging": _split("small guesthouses, cabins, hostels, hotels with a pool, apartments with a kitchen, campsites"),
    "style": _split("step by step, in bullet points, with short examples, without jargon, in plain prose"),
    "quality": _split("quiet, bright, simple, handmade, second-hand, minimalist, locally made, lightweight, durable"),
    "mood": _split("tired, restless, distracted, cheerful, stuck, grumpy, curious, overwhelmed, optimistic, nervous"),
    "era": _split("the Bronze Age, the Roman Empire, the Industrial Revolution, the Renaissance, the Cold War"),
    "science": _split("photosynthesis, plate tectonics, black holes, vaccines, tides, fermentation, inflation, supply chains"),
    "fruit": _split("apples, marbles, pencils, oranges, stickers, tickets, cookies, stamps"),
    "function": _split("parse_rows, merge_tables, load_config, count_words, send_report, clean_names, fetch_page"),
    "lang": _split("Python, JavaScript, SQL, Java, Go, Bash, Rust"),
    "document": _split("cover letter, press release, blog post, product page, speech, report, newsletter, testimonial"),
    "character": _split("lighthouse keeper, retired spy, dragon tamer, pirate captain, village baker, space mechanic"),
}  # fmt: skip
