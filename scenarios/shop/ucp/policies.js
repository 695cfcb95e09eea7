// The shop's terms in words: for the page that shows them, and for whoever asks.

export const POLICIES = [
  {
    id: "shipping",
    type: "shop.tarnhill.policy.shipping",
    link: "shipping_policy",
    title: "Delivery",
    text: "Standard delivery takes 2 to 3 days and costs €4.90, free from €75. Express comes the next day for €9.90. Picking up in the shop in Haarlem is free. We deliver to the Netherlands, Belgium and Germany.",
    words:
      "delivery deliver shipping ship express standard pickup pick collect cost free days country countries netherlands belgium germany abroad long arrive",
  },
  {
    id: "returns",
    type: "dev.ucp.shopping.policy.return",
    link: "refund_policy",
    title: "Returns and refunds",
    text: "You can send back anything unused within 30 days of its arrival. The way back is free, and the money is yours again within 5 days of our getting the parcel. Worn shoes cannot be returned.",
    words:
      "return returns refund money back send exchange days unused worn shoes try size fit cancel",
  },
  {
    id: "warranty",
    type: "dev.ucp.shopping.policy.warranty",
    link: "warranty",
    title: "Warranty and repair",
    text: "Everything has a warranty of 2 years; tents and backpacks have 5. Within that time we mend or replace what breaks in normal use. Shoes with stitched soles we resole for €45.",
    words: "warranty guarantee repair mend broken breaks replace years resole sole tent backpack",
  },
  {
    id: "payment",
    type: "shop.tarnhill.policy.payment",
    link: "faq",
    title: "Payment",
    text: "You pay by card, and your bank asks you to confirm it. In this demonstration there is a test payment besides, which moves no money.",
    words: "payment pay card bank paypal invoice test money",
  },
  {
    id: "privacy",
    type: "shop.tarnhill.policy.privacy",
    link: "privacy_policy",
    title: "Privacy",
    text: "What you enter stays in your browser. Nothing is sent anywhere, nobody is told, and you can empty the browser's storage at any time.",
    words: "privacy data personal email address stored cookies tracking gdpr",
  },
  {
    id: "terms",
    type: "shop.tarnhill.policy.terms",
    link: "terms_of_service",
    title: "Terms of sale",
    text: "This is a demonstration shop: nothing is sold, no order is binding, and prices are made up.",
    words: "terms conditions contract order binding legal demonstration",
  },
];

const PLAIN_WORDS = new Set(
  "a an and are can do does for how i if in is it long many me much my of on or shop store the this to we what when will with you your policy policies".split(
    " ",
  ),
);

const wordsOf = (text) =>
  String(text)
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** The policies that a question is about, best first; none when no word of it is known. */
export const policiesAbout = (question) => {
  const asked = wordsOf(question).filter((word) => !PLAIN_WORDS.has(word));
  const rated = POLICIES.map((policy) => {
    const known = new Set(wordsOf(`${policy.title} ${policy.words}`));
    const score = asked.filter(
      (word) => known.has(word) || known.has(word.replace(/(ing|s|ed)$/, "")),
    ).length;
    return { policy, score };
  });
  return rated
    .filter(({ score }) => score)
    .sort((left, right) => right.score - left.score)
    .slice(0, 2)
    .map(({ policy }) => policy);
};
