"""Writes four small synthetic estates, school, bakery, vineyard and observatory, and the set "neighbourhood": questions with their
expected answers.

The answers are computed here from the records, independently of the planner. Run in this folder: python3 generate_neighbourhood.py
"""
import random
import statistics
from collections import Counter

import generate
from generate import Questions, col, sums, where

rnd = random.Random(20261207)
generate.rnd = rnd
pick, day = rnd.choice, generate.day


def school():
    pupils = []
    for i in range(60):
        pupils.append({"pupil": f"{pick(['Ada', 'Ben', 'Cleo', 'Dina', 'Emil'])} {pick(['Hart', 'Iqbal', 'Jansen', 'Kerr'])} {i}",
                       "form": rnd.choices(["7a", "7b", "8a", "8b", "9c"], [5, 4, 3, 3, 2])[0], "born": day("2012-01-01", "2015-12-31"),
                       "house": rnd.choices(["Kestrel", "Heron", "Osprey"], [5, 3, 2])[0], "lunch": pick(["canteen", "packed", None]),
                       "days_absent": rnd.randrange(0, 24), "average_mark": round(rnd.uniform(40, 98), 1), "scholarship": rnd.random() < 0.2,
                       "clubs": rnd.sample(["chess", "choir", "robotics", "drama"], rnd.randrange(0, 3))})
    lessons = []
    for i in range(40):
        lessons.append({"lesson_id": f"L{100 + i}", "subject": rnd.choices(["mathematics", "biology", "history", "music", "french"], [6, 5, 4, 2, 3])[0],
                        "teacher": pick(["Ms Okafor", "Mr Lund", "Mrs Patel"]), "classroom": pick(["R1", "R2", "Lab", "Hall"]),
                        "weekday": pick(["Monday", "Tuesday", "Wednesday", "Friday"]), "minutes": pick([45, 60, 90]), "enrolled": rnd.randrange(8, 31),
                        "places": rnd.randrange(15, 32), "exam_on": None if rnd.random() < 0.4 else day("2026-05-01", "2026-07-15")})
    return {"pupils": pupils, "lessons": lessons}


def school_questions(e):
    q, p, s = Questions("school"), e["pupils"], e["lessons"]
    q.count("How many pupils does the school have?", p)
    q.count("How many pupils are in form 8a?", where(p, form="8a"))
    q.count("How many students with a scholarship are in Heron?", where(p, scholarship=True, house="Heron"))
    q.count("How many pupils sing in the choir or play chess?", [r for r in p if {"choir", "chess"} & set(r["clubs"])])
    q.count("How many pupils belong to the robotics club?", [r for r in p if "robotics" in r["clubs"]])
    q.count("How many pupils were absent for more than ten days?", [r for r in p if r["days_absent"] > 10])
    q.count("How many pupils were born before 2014?", [r for r in p if r["born"] < "2014"])
    q.count("How many Kestrel pupils have an average mark of at least 80?", [r for r in where(p, house="Kestrel") if r["average_mark"] >= 80])
    q.groups("Pupils per house", col(p, "house"))
    q.top("Which house has the most pupils?", Counter(col(p, "house")))
    q.number("What is the average mark in form 7b?", statistics.mean(col(where(p, form="7b"), "average_mark")))
    q.share("What percentage of pupils has a scholarship?", where(p, scholarship=True), p)
    q.yesno("Do any Osprey pupils eat in the canteen?", where(p, house="Osprey", lunch="canteen"))
    q.count("How many lessons does Mr Lund teach?", where(s, teacher="Mr Lund"))
    q.count("How many music lessons take place on Friday?", where(s, subject="music", weekday="Friday"))
    q.count("How many lessons have more pupils enrolled than places?", [r for r in s if r["enrolled"] > r["places"]])
    q.count("How many lessons have no exam?", where(s, exam_on=None))
    q.count("How many lessons have their exam in June 2026?", [r for r in s if (r["exam_on"] or "").startswith("2026-06")])
    q.count("How many lessons last 60 or more minutes?", [r for r in s if r["minutes"] >= 60])
    q.groups("How many lessons are there in each classroom?", col(s, "classroom"))
    q.number("How many minutes of biology are there in total?", sum(col(where(s, subject="biology"), "minutes")))
    q.top("Which teacher gives the most lessons?", Counter(col(s, "teacher")))
    q.missing("How many pupils wear glasses?")
    q.missing("How many lessons were cancelled?")
    q.missing("What is the average height of the pupils?")
    q.missing("How many pupils failed twice?")
    return q.rows


def bakery():
    shops = []
    for i, town in enumerate(["Milton", "Norwood", "Oakham", "Penrith", "Quorn", "Ripley", "Selby"]):
        shops.append({"shop": f"{town} Bakery", "town": town, "opened_on": day("1988-01-01", "2024-12-31"), "ovens": rnd.randrange(1, 7), "seats": rnd.randrange(0, 40),
                      "rent_eur": rnd.randrange(8, 50) * 100, "delivers": rnd.random() < 0.6, "manager": pick(["I. Falk", "J. Moor", None])})
    products = []
    for i, (name, kind) in enumerate([("rye loaf", "bread"), ("baguette", "bread"), ("spelt roll", "roll"), ("poppy roll", "roll"), ("apple strudel", "pastry"), ("croissant", "pastry"),
                                      ("cheesecake", "cake"), ("carrot cake", "cake"), ("ciabatta", "bread"), ("cinnamon bun", "pastry"), ("pretzel", "roll"), ("walnut loaf", "bread")]):
        products.append({"product": name, "range": kind, "price_eur": round(rnd.uniform(0.8, 24), 2), "weight_g": rnd.randrange(5, 90) * 10, "vegan": rnd.random() < 0.45,
                         "gluten_free": rnd.random() < 0.2, "allergens": rnd.sample(["nuts", "milk", "egg", "sesame"], rnd.randrange(0, 4)), "shelf_life_days": rnd.randrange(1, 8)})
    batches = []
    for i in range(80):
        baked = rnd.randrange(20, 300)
        batches.append({"batch": f"B{5000 + i}", "product": pick(products)["product"], "shop": pick(shops)["shop"], "baked_on": day("2026-08-01", "2026-10-31"),
                        "pieces_baked": baked, "pieces_sold": baked - rnd.randrange(0, 20), "pieces_burnt": rnd.choices([0, rnd.randrange(1, 15)], [7, 3])[0],
                        "flour_kg": rnd.randrange(5, 60), "baker": pick(["Hugo", "Lotte", "Remy", "Tess"]), "result": rnd.choices(["perfect", "acceptable", "rejected"], [6, 3, 1])[0]})
    return {"shops": shops, "products": products, "batches": batches}


def bakery_questions(e):
    q, s, p, b = Questions("bakery"), e["shops"], e["products"], e["batches"]
    q.count("How many shops are there?", s)
    q.names("Which shops deliver?", col(where(s, delivers=True), "shop"))
    q.top("Which shop has the most ovens?", {r["shop"]: r["ovens"] for r in s})
    q.top("Which shop pays the highest rent?", {r["shop"]: r["rent_eur"] for r in s})
    q.count("How many shops were opened after 2005?", [r for r in s if r["opened_on"] >= "2006"])
    q.count("How many shops have no manager?", where(s, manager=None))
    q.number("How many seats do all shops have together?", sum(col(s, "seats")))
    q.count("How many products are vegan?", where(p, vegan=True))
    q.count("How many products contain nuts?", [r for r in p if "nuts" in r["allergens"]])
    q.count("How many products contain neither milk nor egg?", [r for r in p if not {"milk", "egg"} & set(r["allergens"])])
    q.names("List the cakes", col(where(p, range="cake"), "product"))
    q.top("What is the cheapest product?", {r["product"]: r["price_eur"] for r in p}, least=True)
    q.number("What is the average price of the pastries?", statistics.mean(col(where(p, range="pastry"), "price_eur")))
    q.count("How many products weigh between 200 and 600 grams?", [r for r in p if 200 <= r["weight_g"] <= 600])
    q.every("Are all breads vegan?", where(p, range="bread"), lambda r: r["vegan"])
    q.groups("How many batches did each baker bake?", col(b, "baker"))
    q.count("How many batches were rejected?", where(b, result="rejected"))
    q.count("How many batches of croissants were baked in Selby Bakery?", where(b, product="croissant", shop="Selby Bakery"))
    q.count("How many batches were baked on 2026-09-15?", where(b, baked_on="2026-09-15"))
    q.number("How many pieces did Lotte burn in total, by pieces burnt?", sum(col(where(b, baker="Lotte"), "pieces_burnt")))
    q.number("What is the ratio of pieces sold to pieces baked?", sum(col(b, "pieces_sold")) / sum(col(b, "pieces_baked")))
    q.number("How much flour did Hugo use in total?", sum(col(where(b, baker="Hugo"), "flour_kg")))
    q.share("What share of the batches was perfect?", where(b, result="perfect"), b)
    q.top("Which baker sold the most pieces?", sums(b, "baker", "pieces_sold"))
    q.missing("How many shops sell coffee?")
    q.missing("How many batches were stolen?")
    q.missing("What is the profit of the shops?")
    q.missing("How many products are organic?")
    return q.rows


def vineyard():
    plots = []
    for i in range(30):
        plots.append({"plot": f"P-{i + 1:02}", "slope": rnd.choices(["south", "west", "flat"], [5, 3, 2])[0], "grape": rnd.choices(["riesling", "merlot", "pinot noir", "sylvaner"], [5, 3, 2, 2])[0],
                      "hectares": round(rnd.uniform(0.3, 4), 1), "planted_year": rnd.randrange(1965, 2022), "irrigated": rnd.random() < 0.4, "owner": pick(["Estate Brandt", "Kloster Au", "Family Weil"]),
                      "soil": pick(["slate", "loam", "limestone"]), "last_pruned": None if rnd.random() < 0.15 else day("2026-01-10", "2026-03-20")})
    wines = []
    for i in range(36):
        wines.append({"label": f"{pick(['Alte Reben', 'Terra', 'Nord', 'Cuvée'])} No. {i + 1}", "vintage": rnd.randrange(2015, 2026), "style": rnd.choices(["dry", "sweet", "sparkling"], [6, 2, 2])[0],
                      "colour": rnd.choices(["white", "red", "rosé"], [5, 3, 2])[0], "bottles": rnd.randrange(2, 80) * 100, "bottles_reserved": rnd.randrange(0, 60) * 100, "alcohol_percent": round(rnd.uniform(9.5, 14.5), 1),
                      "price_eur": rnd.randrange(6, 70), "cellar": pick(["north cellar", "east cellar", "old cellar"]), "awards": rnd.sample(["gold", "silver", "critics choice"], rnd.randrange(0, 3)), "exported": rnd.random() < 0.5})
    return {"land": {"plots": plots}, "wines": wines}


def vineyard_questions(e):
    q, p, w = Questions("vineyard"), e["land"]["plots"], e["wines"]
    q.count("How many plots are there?", p)
    q.count("How many riesling plots are irrigated?", where(p, grape="riesling", irrigated=True))
    q.count("How many plots of Kloster Au have slate soil?", where(p, owner="Kloster Au", soil="slate"))
    q.count("How many plots are larger than 2 hectares?", [r for r in p if r["hectares"] > 2])
    q.count("How many plots were planted between 1980 and 1999?", [r for r in p if 1980 <= r["planted_year"] <= 1999])
    q.count("How many plots have not been pruned?", where(p, last_pruned=None))
    q.number("How many hectares does Family Weil own in total?", sum(col(where(p, owner="Family Weil"), "hectares")))
    q.groups("Number of plots by grape", col(p, "grape"))
    q.top("Which grape covers the most hectares?", {k: round(v, 3) for k, v in sums(p, "grape", "hectares").items()})
    q.share("What percentage of the plots is not irrigated?", where(p, irrigated=False), p)
    q.count("How many red wines are sweet?", where(w, colour="red", style="sweet"))
    q.count("How many wines from 2020 do we have?", where(w, vintage=2020))
    q.count("How many sparkling or rosé wines are there?", [r for r in w if r["style"] == "sparkling" or r["colour"] == "rosé"])
    q.count("How many wines cost at most 15 euros?", [r for r in w if r["price_eur"] <= 15])
    q.count("How many wines have won gold?", [r for r in w if "gold" in r["awards"]])
    q.count("How many wines are stored in the old cellar?", where(w, cellar="old cellar"))
    q.count("For how many wines are more bottles reserved than we have bottles?", [r for r in w if r["bottles_reserved"] > r["bottles"]])
    q.number("What is the median price of the white wines?", statistics.median(col(where(w, colour="white"), "price_eur")))
    q.number("How many bottles are in the east cellar?", sum(col(where(w, cellar="east cellar"), "bottles")))
    q.topn("Top 3 wines by bottles", {r["label"]: r["bottles"] for r in w}, 3)
    q.yesno("Are there any exported sweet red wines?", where(w, exported=True, style="sweet", colour="red"))
    q.groups("How many dry wines are there per vintage?", [str(r["vintage"]) for r in where(w, style="dry")])
    q.missing("How many plots were sprayed?")
    q.missing("How many wines are corked?")
    q.missing("Which wine goes well with fish?")
    q.missing("How many barrels are in the old cellar?")
    return q.rows


def observatory():
    telescopes = []
    for i, name in enumerate(["Altair", "Borealis", "Corvus", "Draco", "Eridanus", "Fornax"]):
        telescopes.append({"telescope": name, "mirror_m": round(rnd.uniform(0.4, 8.2), 1), "mount": pick(["equatorial", "alt-azimuth"]), "first_light": day("1979-01-01", "2023-12-31"),
                           "robotic": rnd.random() < 0.5, "dome": pick(["Dome A", "Dome B", "Dome C"])})
    nights = []
    for i in range(90):
        nights.append({"run": f"N{800 + i}", "telescope": pick(telescopes)["telescope"], "observer": pick(["Ruiz", "Sato", "Tamm", "Unger"]), "night": day("2026-03-01", "2026-09-30"),
                       "target": rnd.choices(["galaxy", "exoplanet", "comet", "supernova"], [5, 4, 2, 2])[0], "filter_band": pick(["red", "blue", "infrared", None]),
                       "exposures": rnd.randrange(1, 60), "exposures_usable": rnd.randrange(0, 40), "hours_observed": rnd.randrange(1, 10), "weather": rnd.choices(["clear", "cloudy", "windy"], [6, 3, 1])[0],
                       "calibrated": rnd.random() < 0.7, "data_gb": rnd.randrange(1, 400)})
    return {"telescopes": telescopes, "observing_runs": nights}


def observatory_questions(e):
    q, t, n = Questions("observatory"), e["telescopes"], e["observing_runs"]
    q.count("How many telescopes are robotic?", where(t, robotic=True))
    q.top("Which telescope has the largest mirror?", {r["telescope"]: r["mirror_m"] for r in t})
    q.names("Which telescopes are in Dome B?", col(where(t, dome="Dome B"), "telescope"))
    q.count("How many telescopes have an equatorial mount?", where(t, mount="equatorial"))
    q.count("How many telescopes had their first light before 2000?", [r for r in t if r["first_light"] < "2000"])
    q.count("How many observing runs are there?", n)
    q.count("How many runs were done by Sato in clear weather?", where(n, observer="Sato", weather="clear"))
    q.count("How many comet runs used the infrared filter?", where(n, target="comet", filter_band="infrared"))
    q.count("How many observing runs used no filter?", where(n, filter_band=None))
    q.count("How many runs took more than 30 exposures?", [r for r in n if r["exposures"] > 30])
    q.count("How many runs are not calibrated?", where(n, calibrated=False))
    q.count("How many runs were there in July 2026?", [r for r in n if r["night"].startswith("2026-07")])
    q.count("How many observing runs lasted 3 to 6 hours?", [r for r in n if 3 <= r["hours_observed"] <= 6])
    q.groups("Observing runs per observer", col(n, "observer"))
    q.groups("Break the runs down by weather", col(n, "weather"))
    q.number("How much data in GB did Ruiz collect in total?", sum(col(where(n, observer="Ruiz"), "data_gb")))
    q.number("What is the average number of exposures of galaxy runs?", statistics.mean(col(where(n, target="galaxy"), "exposures")))
    q.top("Who observed the most hours?", sums(n, "observer", "hours_observed"))
    q.top("What is the most common target?", Counter(col(n, "target")))
    q.share("What fraction of the runs had cloudy weather?", where(n, weather="cloudy"), n)
    q.yesno("Is there a supernova run by Unger?", where(n, observer="Unger", target="supernova"))
    q.number("What is the difference between exposures and usable exposures?", sum(col(n, "exposures")) - sum(col(n, "exposures_usable")))
    q.missing("How many runs were interrupted?")
    q.missing("How many telescopes need new mirrors?")
    q.missing("What is the magnitude of the supernovae?")
    q.missing("How many runs were published?")
    return q.rows


if __name__ == "__main__":
    generate.write("neighbourhood",
                   (school, school_questions),
                   (bakery, bakery_questions),
                   (vineyard, vineyard_questions),
                   (observatory, observatory_questions))
