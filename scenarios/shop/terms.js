// What the shop takes off, what delivery costs, and how many of one product it sells at once.
// Amounts are whole euro cents.

export const MOST_OF_ONE = 10;

export const COUPONS = {
  WELCOME10: { percent: 10, says: "10 % off" },
  HILLS20: { percent: 20, least: 10000, says: "20 % off from €100" },
};

export const DELIVERIES = {
  standard: { name: "Standard, 2 to 3 days", price: 490, freeFrom: 7500 },
  express: { name: "Express, next day", price: 990 },
  pickup: { name: "Pick up in the shop", price: 0 },
};

/** What a coupon takes off; nothing while its conditions do not hold. */
export const discountOf = (code, subtotal) => {
  const terms = COUPONS[code];
  if (!terms || subtotal < (terms.least ?? 0)) return 0;
  return Math.round((subtotal * terms.percent) / 100);
};

/** What a delivery costs when the products cost `total`. */
export const deliveryPrice = (way, total) => {
  const { price, freeFrom } = DELIVERIES[way];
  return freeFrom !== undefined && total >= freeFrom ? 0 : price;
};
