// What customers wrote. A product's rating is the mean of these stars, nothing else.

const REVIEWS = {
  "trail-runner-1": [
    ["Mirela", 4, "Good grip on wet leaves. The tongue is a little thin."],
    ["Joost", 5, "My first trail shoes, and I stopped looking for others."],
    ["Anke", 4, "Runs half a size small, comfortable after that."],
  ],
  "trail-runner-2": [
    ["Tomas", 5, "Soft without being slow. Thirty kilometres, no blister."],
    ["Ilse", 4, "Great shoe, but the blue gets dusty on day one."],
    ["Petra", 5, "The collar really keeps the small stones out."],
    ["Rui", 5, "Replaced the first model with these. Worth the difference."],
  ],
  "trail-runner-pro": [
    ["Noor", 5, "Crossed a stream up to the ankle, socks stayed dry."],
    ["Stellan", 4, "Warm in August. In November there is nothing better."],
    ["Camille", 5, "The lace lock works with gloves on."],
  ],
  "city-sneaker": [
    ["Lena", 5, "A year old and still the pair I take for dinner."],
    ["Oskar", 4, "White is white: have a brush at hand."],
    ["Dario", 4, "Stiff for two days, then perfect."],
  ],
  "day-pack-20": [
    ["Fenna", 5, "Laptop, lunch and a jumper, and it still looks small."],
    ["Marek", 4, "I would like one more inner pocket."],
    ["Sofia", 5, "The rain cover saved my papers twice."],
  ],
  "trek-pack-45": [
    ["Bruno", 5, "Twelve kilos felt like eight."],
    ["Hanneke", 5, "Setting the back length takes one minute, do it."],
    ["Yusuf", 4, "The lid as a hip bag is a fine idea, the buckle is small."],
  ],
  "canvas-tote": [
    ["Elif", 5, "Stands up by itself, as promised."],
    ["Gregor", 4, "Strong. Needs an iron after washing."],
  ],
  "messenger-bag": [
    ["Niamh", 5, "Four winters of cycling and it only got better."],
    ["Paolo", 4, "Heavy when empty, but it keeps its shape."],
    ["Wiktor", 5, "Please make more of these."],
  ],
  "blue-stoneware-mug": [
    ["Agnes", 5, "The glaze looks like a lake in the morning."],
    ["Henrik", 5, "Big handle, big coffee."],
    ["Lucia", 4, "Mine is a bit darker than the picture, which I like."],
  ],
  "red-enamel-mug": [
    ["Pia", 4, "Hot rim, as with every enamel mug."],
    ["Kasper", 5, "Fell down a rock face. Still holds tea."],
    ["Dana", 4, "Cheerful on the shelf."],
  ],
  "steel-travel-mug": [
    ["Imre", 5, "Lay in my bag for a whole train ride, not a drop."],
    ["Sanne", 4, "Keeps tea too hot to drink for an hour."],
    ["Viktor", 5, "The lid comes apart for cleaning."],
  ],
  "stoneware-teapot": [
    ["Moira", 5, "At last a spout that does not drip."],
    ["Jens", 4, "Enough for three cups, not four."],
    ["Beatriz", 5, "The strainer is deep, the leaves have room."],
  ],
  "arc-desk-lamp": [
    ["Rasmus", 4, "Beautiful light. The cable could be longer."],
    ["Ines", 5, "The dimmer in the foot is the best part."],
    ["Gustav", 4, "Joints stay where you put them."],
  ],
  "grid-notebook": [
    ["Klara", 5, "Fountain pen, no ghost on the other side."],
    ["Tim", 5, "Lies flat. That is all I ask."],
    ["Zofia", 5, "On my sixth one."],
  ],
  "brass-pen": [
    ["Alban", 4, "Heavy in a good way, cold in the morning."],
    ["Ruta", 4, "A present for my father, he will not lend it to anyone."],
  ],
  "compact-keyboard": [
    ["Mats", 5, "Quiet enough for a shared office."],
    ["Livia", 4, "It took me a week to find the arrow keys."],
    ["Arno", 5, "Charged it in spring, again in autumn."],
    ["Hedda", 4, "Good feel. The case is heavier than it looks."],
  ],
  "steel-water-bottle": [
    ["Jonas", 5, "Water tastes of nothing, which is the point."],
    ["Milena", 4, "No paint left on one edge after a fall."],
    ["Otto", 4, "Fits my bicycle and my car."],
  ],
  "two-person-tent": [
    ["Greta", 5, "Stood through a storm that took the neighbours' tent."],
    ["Emil", 5, "Four minutes is true from the second time on."],
    ["Nadia", 4, "Two people and two rucksacks: bring good will."],
  ],
  "headlamp-400": [
    ["Leon", 5, "Light enough to forget that it is on."],
    ["Siri", 4, "The button is small with thick gloves."],
    ["Ben", 4, "Red light is a blessing in a hut."],
  ],
  "rain-jacket": [
    ["Maud", 5, "Three hours of rain on the coast, dry shirt."],
    ["Filip", 5, "The hood turns with you, why is that so rare?"],
    ["Carla", 5, "Small enough for the bottom of my bag."],
  ],
};

/** The reviews of a product, newest first: author, stars from 1 to 5, text. */
export const reviewsOf = (id) =>
  REVIEWS[id].map(([author, stars, text]) => ({ author, stars, text }));

/** The mean of a product's stars, to one decimal. */
export const ratingOf = (id) => {
  const stars = REVIEWS[id].map(([, given]) => given);
  return Math.round((10 * stars.reduce((sum, given) => sum + given, 0)) / stars.length) / 10;
};
