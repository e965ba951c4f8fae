// Who are the five best customers, by revenue of orders that were shipped?
// Two tools, every page of both, joined here; only the table goes back to the model.

interface Page<T> { items: T[]; pages: number }

/** Reads the first page, then all the others side by side. */
async function all<T>(list: (page: number) => Promise<Page<T>>): Promise<T[]> {
  const first = await list(1);
  const others = Array.from({ length: first.pages - 1 }, (_, index) => list(index + 2));
  const pages = [first, ...(await Promise.all(others))];
  return pages.flatMap((page) => page.items);
}

const [customers, orders] = await Promise.all([
  all((page) => tools.shop.list_customers({ page, page_size: 50 })),
  all((page) => tools.shop.list_orders({ page, page_size: 50, status: "shipped" })),
]);

const totals = new Map<string, { orders: number; cents: number }>();
for (const order of orders) {
  const total = totals.get(order.customer_id) ?? { orders: 0, cents: 0 };
  total.orders += 1;
  total.cents += order.total_cents;
  totals.set(order.customer_id, total);
}

return customers
  .map((customer) => ({ customer, ...(totals.get(customer.id) ?? { orders: 0, cents: 0 }) }))
  .sort((a, b) => b.cents - a.cents)
  .slice(0, 5)
  .map(({ customer, orders, cents }) => ({
    customer: customer.name,
    city: customer.city,
    orders,
    revenue: `EUR ${(cents / 100).toFixed(2)}`,
  }));
