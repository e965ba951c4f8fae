//! Vectors that an embedding endpoint gave for texts, so that a restart does not ask for them again.
//!
//! The store looks at neither: a *space* says whose vectors they are (an endpoint and a model), a text is known by
//! its hash, and a vector is bytes.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

/// Vectors kept, of all spaces together: several times the tools that a person's servers have. With 768 numbers
/// each they take 25 MB.
pub(crate) const ROWS_MAX: u32 = 8_192;
/// One vector: 4,096 numbers of four bytes. A longer one is not kept.
pub(crate) const VECTOR_BYTES_MAX: usize = 16 << 10;

/// The vectors of those of `texts` that have one, in no order.
pub(crate) fn of(
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

/// Keeps vectors, each in the place of an older one of its text. What was kept longest ago goes when there are
/// too many.
pub(crate) fn keep(
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
    forget(transaction, ROWS_MAX)
}

/// A row number is always above every one in use, so the order of rows is that in which they were kept.
fn forget(transaction: &Transaction<'_>, rows_max: u32) -> rusqlite::Result<()> {
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
    fn what_was_kept_longest_ago_goes_and_what_is_kept_anew_is_new() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        let transaction = connection.transaction().unwrap();
        let vectors: Vec<_> = hashes(0..10)
            .into_iter()
            .map(|hash| (hash, vec![1]))
            .collect();
        keep(&transaction, "space", &vectors).unwrap();
        keep(&transaction, "space", &[(hashes([3]).remove(0), vec![2])]).unwrap();
        let large = vec![0; VECTOR_BYTES_MAX + 1];
        keep(&transaction, "space", &[(hashes([11]).remove(0), large)]).unwrap();

        forget(&transaction, 10).unwrap();
        let all = hashes(0..12);
        assert_eq!(of(&transaction, "space", &all).unwrap().len(), 10);
        forget(&transaction, 3).unwrap();
        let mut left = of(&transaction, "space", &all).unwrap();
        left.sort();
        let numbers: Vec<_> = left.iter().map(|(hash, _)| hash.as_str()).collect();
        assert_eq!(numbers, ["hash 3", "hash 8", "hash 9"]);
        assert_eq!(left[0].1, [2]);
        assert_eq!(of(&transaction, "other", &all).unwrap(), []);
    }
}
