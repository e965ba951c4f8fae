//! Table `embedding`: vectors that an embedding endpoint returned, so that a restart does not request them
//! again.
//!
//! The store interprets none of it: a *space* names the endpoint and model of a vector, a text is known by its
//! hash, and a vector is bytes.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

/// Vectors of all spaces together: several times the tools that a user's servers have. With 768 numbers
/// each they take 25 MB.
const ROWS_MAX: u32 = 8_192;
/// One vector: 4,096 numbers of four bytes. A longer one is not stored.
const VECTOR_BYTES_MAX: usize = 16 << 10;

/// Stored vectors of `texts`, by hash, in no order.
pub(crate) fn get(
    connection: &Connection,
    space: &str,
    texts: &[String],
) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    let mut statement = connection
        .prepare_cached("SELECT vector FROM embedding WHERE space = ?1 AND text_hash = ?2")?;
    let mut found = Vec::new();
    for text in texts {
        let vector = statement
            .query_row([space, text], |row| row.get(0))
            .optional()?;
        found.extend(vector.map(|vector| (text.clone(), vector)));
    }
    Ok(found)
}

/// Stores vectors, each in place of an older one of the same text, and evicts the oldest above the bound.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    space: &str,
    vectors: &[(String, Vec<u8>)],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO embedding (space, text_hash, vector) VALUES (?1, ?2, ?3)",
    )?;
    for (text, vector) in vectors {
        if vector.len() <= VECTOR_BYTES_MAX {
            insert.execute(params![space, text, vector])?;
        }
    }
    evict(transaction, ROWS_MAX)
}

/// Removes the oldest vectors above `rows_max`. SQLite assigns a row number above all that are in use, so row
/// order is insertion order.
fn evict(transaction: &Transaction<'_>, rows_max: u32) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM embedding WHERE row <= (
                 SELECT row FROM embedding ORDER BY row DESC LIMIT 1 OFFSET ?1)",
        )?
        .execute([rows_max])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema;

    fn hashes(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
        numbers.into_iter().map(|n| format!("hash {n}")).collect()
    }

    #[test]
    fn the_oldest_vectors_are_evicted_and_a_replaced_vector_counts_as_new() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        let transaction = connection.transaction().unwrap();
        let vectors: Vec<_> = hashes(0..10)
            .into_iter()
            .map(|hash| (hash, vec![1]))
            .collect();
        put(&transaction, "space", &vectors).unwrap();
        put(&transaction, "space", &[(hashes([3]).remove(0), vec![2])]).unwrap();
        let large = vec![0; VECTOR_BYTES_MAX + 1];
        put(&transaction, "space", &[(hashes([11]).remove(0), large)]).unwrap();

        evict(&transaction, 10).unwrap();
        let all = hashes(0..12);
        assert_eq!(get(&transaction, "space", &all).unwrap().len(), 10);
        evict(&transaction, 3).unwrap();
        let mut left = get(&transaction, "space", &all).unwrap();
        left.sort();
        let numbers: Vec<_> = left.iter().map(|(hash, _)| hash.as_str()).collect();
        assert_eq!(numbers, ["hash 3", "hash 8", "hash 9"]);
        assert_eq!(left[0].1, [2]);
        assert_eq!(get(&transaction, "other", &all).unwrap(), []);
    }
}
