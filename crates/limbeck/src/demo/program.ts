// Who are the five best customers, by revenue of orders that were shipped?
// Two tools, every page of both, joined here; only the table goes back to the model.

const customers = (page: number) => tools.shop.list_customers({ page, page_size: 50 });
const orders = (page: number) => tools.shop.list_orders({ page, page_size: 50, status: "shipped" });

// The first pages say how many there are; then all the others are read side by side.
const [firstCustomers, firstOrders] = await Promise.all([customers(1), orders(1)]);
const others = (pages: number) => Array.from({ length: pages - 1 }, (_, index) => index + 2);
const [moreCustomers, moreOrders] = await Promise.all([
  Promise.all(others(firstCustomers.pages).map(customers)),
  Promise.all(others(firstOrders.pages).map(orders)),
]);

const totals = new Map<string, { orders: number; cents: number }>();
for (const order of [firstOrders, ...moreOrders].flatMap((page) => page.items)) {
  const total = totals.get(order.customer_id) ?? { orders: 0, cents: 0 };
  total.orders += 1;
  total.cents += order.total_cents;
  totals.set(order.customer_id, total);
}

return [firstCustomers, ...moreCustomers]
  .flatMap((page) => page.items)
  .map((customer) => ({ customer, ...(totals.get(customer.id) ?? { orders: 0, cents: 0 }) }))
  .sort((a, b) => b.cents - a.cents)
  .slice(0, 5)
  .map(({ customer, orders, cents }) => ({
    customer: customer.name,
    city: customer.city,
    orders,
    revenue: `EUR ${(cents / 100).toFixed(2)}`,
  }));
