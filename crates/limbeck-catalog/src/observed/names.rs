//! Distinction of property names that belong to a schema from those that are data.
//!
//! The name in `{"total": 3}` was chosen by the author of the result's format; the name in `{"alice@example.com": 3}` is
//! a value. A shape shows names of the first kind and must not contain values. A name is kept when it reads like an
//! identifier made of words: letters, with few digits at the end of a word. Everything else is data. A name that is taken
//! for data by mistake is missing for the reader; data that is taken for a name is shown, and a value of letters alone
//! (`{"alice": 3}`) looks like a name. So an object keeps no names when most of its names are data, or when its values are
//! records that all have the same properties.

/// Most bytes of a name that is kept; of 60,000 property names in real schemas all but a handful are shorter.
const NAME_BYTES_MAX: usize = 48;
/// Most letters of one word: `internationalization` has 20.
const WORD_LETTERS_MAX: usize = 20;
/// Most letters and digits without a separator, when there are digits: tokens and hashes are longer.
const MIXED_BYTES_MAX: usize = 24;
/// Most capitals and digits without a separator.
const CAPITALS_BYTES_MAX: usize = 12;
/// Most digits at the end of a word.
const DIGITS_MAX: usize = 2;
/// Common words that end in more digits: `sha256`, `iso8601`.
const KNOWN_DIGITS: [&str; 8] = ["128", "224", "256", "384", "509", "512", "3339", "8601"];
/// Fewest hexadecimal characters that count as a hash when a digit is among them.
const HEX_BYTES_MIN: usize = 6;

/// Whether `name` is data and not a word of a schema.
pub(super) fn is_data(name: &str) -> bool {
    // `@id` of JSON-LD, `$ref` of schemas, `_id` of databases.
    let bare = name.strip_prefix(['@', '$']).unwrap_or(name);
    let begins = bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    !begins || name.len() > NAME_BYTES_MAX || !bare.split(['_', '-']).all(is_schema_part)
}

/// Whether the part between two separators is data. The part is empty in `_id` and `__typename`.
fn is_schema_part(part: &str) -> bool {
    let letters = || part.bytes().filter(u8::is_ascii_alphabetic);
    let digits = || part.bytes().filter(u8::is_ascii_digit);
    if !part.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    if digits().count() == 0 {
        return humps(part).all(|word| word <= WORD_LETTERS_MAX);
    }
    let hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let capitals = !part.bytes().any(|byte| byte.is_ascii_lowercase());
    if (hex && letters().count() > 0 && part.len() >= HEX_BYTES_MIN)
        || (capitals && part.len() > CAPITALS_BYTES_MAX)
        || part.len() > MIXED_BYTES_MAX
    {
        return false;
    }
    let runs = part.split(|c: char| !c.is_ascii_digit());
    let mut runs = runs.filter(|run| !run.is_empty());
    let first = runs.next().unwrap_or_default();
    // `_1` numbers the items of a list; a longer number is an id.
    let few = first.len() <= DIGITS_MAX || (letters().count() > 0 && KNOWN_DIGITS.contains(&first));
    few && runs.next().is_none() && humps(part).all(|word| word <= WORD_LETTERS_MAX)
}

/// Lengths of the words in `camelCase` and `HTTPServer`: a capital after a small letter starts a word.
fn humps(part: &str) -> impl Iterator<Item = usize> {
    let bytes = part.as_bytes();
    bytes
        .chunk_by(|one, next| !(one.is_ascii_lowercase() && next.is_ascii_uppercase()))
        .map(<[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::is_data;

    #[test]
    fn words_of_schemas_keep_their_names() {
        for name in [
            "id",
            "_id",
            "__typename",
            "node_id",
            "createdAt",
            "HTMLUrl",
            "@id",
            "$ref",
            "x-forwarded-for",
            "sha256",
            "sha256Digest",
            "iso8601",
            "utf8",
            "x509",
            "oauth2Token",
            "p95",
            "top10",
            "line_1",
            "averageTop10Percentile",
            "CANCELLATION_REASON",
            "SHA256_CHECKSUM",
            "internationalization",
            "k8s",
            "a",
        ] {
            assert!(!is_data(name), "{name}");
        }
    }

    #[test]
    fn ids_addresses_numbers_and_tokens_are_data() {
        for name in [
            "",
            "42",
            "-1",
            "+1",
            "2026-05-09",
            "10010",
            "customfield_10010",
            "PROJ-123",
            "issue4711",
            "fy_2024",
            "alice@example.com",
            "Alice Smith",
            "Müller",
            "日本",
            "/home/alice",
            "example.com",
            "host:8080",
            "https://example.com/x",
            "192.168.0.1",
            "018f6b2e-7c3a-7b1e-9f00-0123456789ab",
            "deadbeef1",
            "abc1234",
            "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
            "AKIAIOSFODNN7EXAMPLE",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "eyJhbGciOiJIUzI1NiJ9",
            "qwertyuiopasdfghjklzxcvb",
            "a1b2c3",
            "+49 170 1234567",
            "arn:aws:iam::123:user/alice",
            "line\nbreak",
            "a*/b",
        ] {
            assert!(is_data(name), "{name}");
        }
        assert!(is_data(&"word_".repeat(10)));
    }
}
