//! Customers and orders of the sample shop, the same on every machine and every day.

use serde_json::{Value, json};

/// Customers of the shop.
pub(super) const CUSTOMERS: u64 = 200;
/// Orders of all customers together.
pub(super) const ORDERS: u64 = 500;

const FIRST: &[&str] = &[
    "Aino", "Bram", "Chiara", "Dario", "Elif", "Femke", "Goran", "Hanna", "Ines", "Jonas", "Klara",
    "Luca", "Maren", "Nuno", "Olga", "Petra", "Rafael", "Sanna", "Tomas", "Vera",
];
const LAST: &[&str] = &[
    "Almeida",
    "Berg",
    "Costa",
    "Dvorak",
    "Eriksen",
    "Fischer",
    "Gallo",
    "Horvat",
    "Ivanova",
    "Jansen",
    "Keller",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Peeters",
    "Rossi",
    "Schmidt",
    "Tanaka",
    "Virtanen",
];
const PLACES: &[(&str, &str)] = &[
    ("Helsinki", "FI"),
    ("Utrecht", "NL"),
    ("Porto", "PT"),
    ("Lyon", "FR"),
    ("Graz", "AT"),
    ("Bologna", "IT"),
    ("Zagreb", "HR"),
    ("Bergen", "NO"),
];
const STREETS: &[&str] = &[
    "Harbour Road",
    "Station Square",
    "Mill Lane",
    "Castle Street",
    "Birch Avenue",
];
const PRODUCTS: &[(&str, u64)] = &[
    ("kettle-1l", 3_490),
    ("grinder-burr", 11_900),
    ("filter-cone", 1_250),
    ("scale-0.1g", 4_200),
    ("beans-house-1kg", 2_680),
    ("espresso-machine", 64_900),
    ("carafe-glass", 2_150),
    ("tamper-58", 2_990),
];
/// Statuses of ten orders; six of them are shipped.
const STATUSES: [&str; 10] = [
    "shipped",
    "shipped",
    "placed",
    "shipped",
    "cancelled",
    "shipped",
    "shipped",
    "paid",
    "shipped",
    "returned",
];

/// Values of an order's `status`.
pub(super) const ORDER_STATUSES: [&str; 5] = ["placed", "paid", "shipped", "returned", "cancelled"];

/// Customer number `index`, counted from 0.
pub(super) fn customer(index: u64) -> Value {
    let mut rng = RecordRng::new(index, 1);
    let (first, last) = (rng.pick(FIRST), rng.pick(LAST));
    let (city, country) = *rng.pick(PLACES);
    json!({
        "id": customer_id(index),
        "name": format!("{first} {last}"),
        "email": format!("{}.{}{index}@example.com", first.to_lowercase(), last.to_lowercase()),
        "phone": format!("+00 555 {:03} {:03}", rng.below(1_000), rng.below(1_000)),
        "street": format!("{} {}", rng.pick(STREETS), 1 + rng.below(120)),
        "postcode": format!("{:05}", rng.below(100_000)),
        "city": city,
        "country": country,
        "since": format!("20{}-{:02}-{:02}", 16 + rng.below(10), 1 + rng.below(12), 1 + rng.below(28)),
        "newsletter": rng.below(2) == 1,
        "note": if rng.below(3) == 0 { "prefers delivery to a parcel locker" } else { "" },
    })
}

/// Order number `index`, counted from 0.
pub(super) fn order(index: u64) -> Value {
    let mut rng = RecordRng::new(index, 2);
    let lines: Vec<(&str, u64, u64)> = (0..=rng.below(2))
        .map(|_| {
            let (sku, cents) = *rng.pick(PRODUCTS);
            (sku, 1 + rng.below(3), cents)
        })
        .collect();
    let total: u64 = lines
        .iter()
        .map(|(_, quantity, cents)| quantity * cents)
        .sum();
    let lines: Vec<Value> = lines
        .into_iter()
        .map(
            |(sku, quantity, cents)| json!({"sku": sku, "quantity": quantity, "unit_cents": cents}),
        )
        .collect();
    json!({
        "id": format!("ord_{:05}", index + 1),
        // The product of two random numbers: few customers have many orders, most have few.
        "customer_id": customer_id(rng.below(CUSTOMERS) * rng.below(CUSTOMERS) / CUSTOMERS),
        "status": STATUSES[(index % 10) as usize],
        "placed_at": format!("2026-{:02}-{:02}T{:02}:{:02}:00Z", 1 + rng.below(6), 1 + rng.below(28), rng.below(24), rng.below(60)),
        "currency": "EUR",
        "total_cents": total,
        "lines": lines,
    })
}

fn customer_id(index: u64) -> String {
    format!("cus_{:04}", index + 1)
}

/// Reproducible random numbers: SplitMix64 (Steele, Lea and Flood, 2014), seeded with the number of a record.
struct RecordRng(u64);

impl RecordRng {
    fn new(index: u64, table: u64) -> Self {
        Self((index << 8) | table)
    }

    /// Random number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_same_every_time_and_about_250_bytes_long() {
        assert_eq!(order(17), order(17));
        let bytes: usize = (0..ORDERS)
            .map(|index| order(index).to_string().len())
            .sum();
        let mean = bytes / ORDERS as usize;
        assert!((200..300).contains(&mean), "{mean}");
    }

    #[test]
    fn every_order_has_a_known_customer_and_the_sum_of_its_lines() {
        let ids: Vec<Value> = (0..CUSTOMERS)
            .map(|index| customer(index)["id"].clone())
            .collect();
        for index in 0..ORDERS {
            let order = order(index);
            assert!(ids.contains(&order["customer_id"]));
            let lines = order["lines"].as_array().unwrap().iter();
            let sum: u64 = lines
                .map(|line| {
                    line["quantity"].as_u64().unwrap() * line["unit_cents"].as_u64().unwrap()
                })
                .sum();
            assert_eq!(order["total_cents"].as_u64(), Some(sum));
            assert!(ORDER_STATUSES.contains(&order["status"].as_str().unwrap()));
        }
    }
}
