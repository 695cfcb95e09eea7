// What the shop sells. Prices are whole euro cents. An id is the title as a slug.
// `words` are further words that a search finds; `colours` paint the picture (pictures.svg).

export const CATEGORIES = [
  { id: "shoes", name: "Shoes", kind: "trail-shoe", colours: { a: "#3f7d5c", b: "#f3efe2", c: "#f2a33a" } },
  { id: "bags", name: "Bags", kind: "backpack", colours: { a: "#2f6690", b: "#1f4868", c: "#f0b64d" } },
  { id: "kitchen", name: "Kitchen", kind: "mug", colours: { a: "#3d6fb6", b: "#f3efe6", c: "#24477d" } },
  { id: "desk", name: "Desk", kind: "lamp", colours: { a: "#d8a31f", b: "#2b3a42", c: "#ffe9a8" } },
  { id: "outdoor", name: "Outdoor", kind: "tent", colours: { a: "#d9703a", b: "#a84d22", c: "#f6e3b4" } },
];

export const PRODUCTS = [
  {
    id: "trail-runner-1", title: "Trail Runner 1", category: "shoes", price: 7900, stock: true,
    kind: "trail-shoe", colours: { a: "#3f7d5c", b: "#f3efe2", c: "#f2a33a" },
    words: "trail running shoe green grip",
    line: "Trail running shoes for the first muddy mile",
    text: "A light shoe with a forgiving midsole and lugs that shed mud. It does not ask for a race number, only for a path that turns to earth.",
    facts: ["280 g in size 42", "6 mm heel drop", "4 mm lugs, natural rubber"],
  },
  {
    id: "trail-runner-2", title: "Trail Runner 2", category: "shoes", price: 11900, stock: true,
    kind: "trail-shoe", colours: { a: "#2d4f9e", b: "#eef1f6", c: "#ff7a59" },
    words: "trail running shoe blue cushion cushioned",
    line: "Trail running shoes with a softer ride",
    text: "More foam under the heel, a plate under the forefoot and a collar that keeps grit out. Made for people who run to the second hill.",
    facts: ["295 g in size 42", "8 mm heel drop", "Recycled knit upper"],
  },
  {
    id: "trail-runner-pro", title: "Trail Runner Pro", category: "shoes", price: 15900, stock: true,
    kind: "trail-shoe", colours: { a: "#2c2f36", b: "#d7dbe0", c: "#e4483d" },
    words: "trail running shoe black waterproof membrane",
    line: "Waterproof trail running shoes for all weathers",
    text: "A sealed membrane, a rock plate and laces that lock with one pull. It stays dry inside through wet grass and shallow streams.",
    facts: ["310 g in size 42", "Waterproof membrane", "5 mm lugs, sticky rubber"],
  },
  {
    id: "city-sneaker", title: "City Sneaker", category: "shoes", price: 8900, stock: true,
    kind: "sneaker", colours: { a: "#f4f1ea", b: "#ffffff", c: "#2f7d6b", t: "#86b5a8" },
    words: "sneaker trainer casual everyday white leather shoe",
    line: "Everyday sneakers in plain white leather",
    text: "Stitched rather than glued, so that it can be resoled. The leather is soft from the first day and looks better after the hundredth.",
    facts: ["Full-grain leather", "Stitched rubber sole", "Can be resoled"],
  },
  {
    id: "day-pack-20", title: "Day Pack 20", category: "bags", price: 6500, stock: true,
    kind: "backpack", colours: { a: "#2f6690", b: "#1f4868", c: "#f0b64d" },
    words: "backpack rucksack daypack laptop blue bag 20 litre",
    line: "A 20 litre backpack for work and walks",
    text: "One big room, a sleeve for a 14 inch laptop and a front pocket for everything you search for at the door.",
    facts: ["20 litres, 640 g", "Sleeve for 14 inches", "Rain cover included"],
  },
  {
    id: "trek-pack-45", title: "Trek Pack 45", category: "bags", price: 14900, stock: true,
    kind: "trek-pack", colours: { a: "#b5482f", b: "#7d2f1f", c: "#e9c46a" },
    words: "backpack rucksack hiking trekking red bag 45 litre",
    line: "A 45 litre hiking backpack that carries close",
    text: "An aluminium frame takes the weight to the hips, and the lid comes off to serve as a small bag of its own.",
    facts: ["45 litres, 1.4 kg", "Adjustable back length", "Removable lid"],
  },
  {
    id: "canvas-tote", title: "Canvas Tote", category: "bags", price: 2900, stock: true,
    kind: "tote", colours: { a: "#e5d3ae", b: "#8c5a35", c: "#2f6b4f" },
    words: "tote shopping shopper cotton beige bag",
    line: "Heavy cotton, two handles, no fuss",
    text: "Sixteen-ounce canvas with a flat bottom that stands up by itself on the kitchen floor while you unpack it.",
    facts: ["16 oz cotton canvas", "Holds 15 kg", "Inner pocket with zip"],
  },
  {
    id: "messenger-bag", title: "Messenger Bag", category: "bags", price: 8500, stock: false,
    kind: "messenger", colours: { a: "#5b6b4a", b: "#3e4a32", c: "#c98f4e" },
    words: "messenger shoulder cycling bike olive green waxed bag",
    line: "Waxed cotton for the daily ride",
    text: "A wide strap with a quick pull, a flap that closes over a full load, and waxed cotton that can be waxed again.",
    facts: ["14 litres, 820 g", "Waxed cotton", "Leather straps"],
  },
  {
    id: "blue-stoneware-mug", title: "Blue Stoneware Mug", category: "kitchen", price: 1650, stock: true,
    kind: "mug", colours: { a: "#3d6fb6", b: "#f3efe6", c: "#24477d" },
    words: "mug cup coffee tea ceramic stoneware blue",
    line: "Thrown by hand, glazed twice",
    text: "A thick wall keeps coffee hot, a wide handle fits three fingers, and no two glazes run the same way.",
    facts: ["0.35 litres", "Dishwasher safe", "Made in small batches"],
  },
  {
    id: "red-enamel-mug", title: "Red Enamel Mug", category: "kitchen", price: 1190, stock: false,
    kind: "enamel-mug", colours: { a: "#c8372d", b: "#f7f2e7", c: "#23262b" },
    words: "mug cup camping coffee tea enamel steel red",
    line: "Steel under enamel, happy on a fire",
    text: "The mug that hangs from a rucksack. It chips one day, and then it is yours.",
    facts: ["0.4 litres", "Fire and hob safe", "Steel rim"],
  },
  {
    id: "steel-travel-mug", title: "Steel Travel Mug", category: "kitchen", price: 3200, stock: true,
    kind: "travel-mug", colours: { a: "#8fa3ad", b: "#26323a", c: "#4fb286" },
    words: "mug cup travel thermos insulated coffee tea steel silver",
    line: "Hot for six hours, shut for good",
    text: "Two walls of steel with nothing in between, and a lid that locks so that it may lie in a bag.",
    facts: ["0.4 litres", "Hot for 6 hours, cold for 12", "Leak-proof lid"],
  },
  {
    id: "stoneware-teapot", title: "Stoneware Teapot", category: "kitchen", price: 4800, stock: true,
    kind: "teapot", colours: { a: "#5c7f76", b: "#3c5852", c: "#d9a46a" },
    words: "teapot pot tea ceramic stoneware green",
    line: "Pours without a drop on the cloth",
    text: "A cut spout that stops cleanly, a strainer inside and a lid that stays on when the last cup is poured.",
    facts: ["0.9 litres", "Strainer of stainless steel", "Dishwasher safe"],
  },
  {
    id: "arc-desk-lamp", title: "Arc Desk Lamp", category: "desk", price: 7400, stock: true,
    kind: "lamp", colours: { a: "#d8a31f", b: "#2b3a42", c: "#ffe9a8" },
    words: "lamp light led desk reading yellow",
    line: "Warm light that bends where you read",
    text: "One arm, two joints and a dimmer in the foot. The light is warm at night and clear in the morning.",
    facts: ["LED, 7 watts", "2700 to 5000 K", "Steel, powder coated"],
  },
  {
    id: "grid-notebook", title: "Grid Notebook", category: "desk", price: 950, stock: true,
    kind: "notebook", colours: { a: "#35635b", b: "#f6f1e4", c: "#e2764a" },
    words: "notebook paper journal notes squared green",
    line: "160 pages of 5 mm squares",
    text: "Lies flat on every page, takes a fountain pen without a shadow and closes with a band.",
    facts: ["A5, 160 pages", "100 g paper", "Thread bound"],
  },
  {
    id: "brass-pen", title: "Brass Pen", category: "desk", price: 3400, stock: true,
    kind: "pen", colours: { a: "#c39a4a", b: "#8a6a2c", c: "#2a2a2a" },
    words: "pen ballpoint writing brass gold gift",
    line: "A pen with some weight to it",
    text: "Turned from one rod of brass that darkens where you hold it. Takes the refills that every shop has.",
    facts: ["Solid brass, 42 g", "Standard refills", "Gift box"],
  },
  {
    id: "compact-keyboard", title: "Compact Keyboard", category: "desk", price: 9900, stock: true,
    kind: "keyboard", colours: { a: "#e6e3dc", b: "#4d5b63", c: "#e2764a", t: "#9aa8b0" },
    words: "keyboard mechanical wireless typing computer grey",
    line: "Mechanical keys in half the width",
    text: "Quiet switches, an aluminium case and a battery that lasts a season. Three computers, one key to change between them.",
    facts: ["68 keys", "Wireless or USB-C", "Quiet tactile switches"],
  },
  {
    id: "steel-water-bottle", title: "Steel Water Bottle", category: "outdoor", price: 2700, stock: true,
    kind: "bottle", colours: { a: "#2b8a8a", b: "#1d5f61", c: "#dfe7e6" },
    words: "bottle water drink flask steel teal",
    line: "0.7 litres, no plastic anywhere",
    text: "One wall of steel, so it is light, and a cap of steel and silicone, so that water tastes of water.",
    facts: ["0.7 litres, 190 g", "Stainless steel", "Fits a bottle cage"],
  },
  {
    id: "two-person-tent", title: "Two-Person Tent", category: "outdoor", price: 22900, stock: true,
    kind: "tent", colours: { a: "#d9703a", b: "#a84d22", c: "#f6e3b4" },
    words: "tent camping two person hiking orange",
    line: "Up in four minutes, alone",
    text: "Two poles cross once, the inner hangs ready, and both doors have a porch for wet boots.",
    facts: ["2.1 kg", "3000 mm water column", "Two doors"],
  },
  {
    id: "headlamp-400", title: "Headlamp 400", category: "outdoor", price: 3900, stock: true,
    kind: "headlamp", colours: { a: "#3b4a8c", b: "#20284f", c: "#ffd45e" },
    words: "headlamp head lamp light torch running camping blue",
    line: "400 lumens where you look",
    text: "A wide beam for camp, a far one for the path, and a red one that lets the others sleep.",
    facts: ["400 lumens, 86 g", "USB-C, 40 hours on low", "Rain proof"],
  },
  {
    id: "rain-jacket", title: "Rain Jacket", category: "outdoor", price: 13900, stock: true,
    kind: "jacket", colours: { a: "#e0b02c", b: "#b48512", c: "#2d3b45" },
    words: "jacket coat rain waterproof yellow hood clothing",
    line: "Waterproof, and still lets you breathe",
    text: "Three layers, taped seams and a hood that turns with your head. Packs into its own pocket.",
    facts: ["3 layers, 340 g", "20,000 mm water column", "Taped seams"],
  },
];

export const slug = (text) => String(text).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

/** The product with this id, or with this title; undefined when there is none. */
export const productById = (id) => PRODUCTS.find((product) => product.id === slug(id));

export const categoryById = (id) => CATEGORIES.find((category) => category.id === id);

/** Cents as euros, for answers: 1650 → 16.5. */
export const euros = (cents) => cents / 100;

const money = new Intl.NumberFormat("en-IE", { style: "currency", currency: "EUR" });

/** Cents as people read them: 1650 → €16.50. */
export const price = (cents) => money.format(cents / 100);
