//! Formats of strings: those of JSON Schema (2020-12, validation §7.3) that help a reader.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Most bytes of a string with a format.
const FORMATTED_BYTES_MAX: usize = 2 << 10;
/// Most characters of a label in a domain name (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// Format of all strings at one position, if they share one.
type Has = fn(&str) -> bool;

/// Format of a string. Two different formats join to [`Format::Plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// Any string.
    Plain,
    DateTime,
    Date,
    Uuid,
    Uri,
    Email,
    Ipv4,
    Ipv6,
}

impl Format {
    /// The format of `text`. Formats exclude each other.
    pub(super) fn of(text: &str) -> Self {
        let formats: [(Self, Has); 7] = [
            (Self::DateTime, is_date_time),
            (Self::Date, is_date),
            (Self::Uuid, is_uuid),
            (Self::Uri, is_uri),
            (Self::Email, is_email),
            (Self::Ipv4, |text| text.parse::<Ipv4Addr>().is_ok()),
            (Self::Ipv6, |text| text.parse::<Ipv6Addr>().is_ok()),
        ];
        if text.len() > FORMATTED_BYTES_MAX || !text.is_ascii() {
            return Self::Plain;
        }
        let found = formats.into_iter().find(|(_, has)| has(text));
        found.map_or(Self::Plain, |(format, _)| format)
    }

    pub(super) fn join(self, other: Self) -> Self {
        if self == other { self } else { Self::Plain }
    }

    /// Its name in JSON Schema.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::DateTime => Some("date-time"),
            Self::Date => Some("date"),
            Self::Uuid => Some("uuid"),
            Self::Uri => Some("uri"),
            Self::Email => Some("email"),
            Self::Ipv4 => Some("ipv4"),
            Self::Ipv6 => Some("ipv6"),
        }
    }
}

/// Two digits as a number.
fn two(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
        }
        _ => None,
    }
}

/// `full-date` of RFC 3339 §5.6.
fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else {
        return false;
    };
    let century = two(&[y1, y2]);
    let (Some(century), Some(year), Some(month), Some(day)) =
        (century, two(&[y3, y4]), two(&[m1, m2]), two(&[d1, d2]))
    else {
        return false;
    };
    let year = century * 100 + year;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `date-time` of RFC 3339 §5.6, without leap seconds.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let below = |bytes: &[u8], limit| two(bytes).is_some_and(|number| number < limit);
    let bytes = time.as_bytes();
    let (Some([h1, h2, b':', m1, m2, b':', s1, s2]), Some(rest)) = (bytes.get(..8), bytes.get(8..))
    else {
        return false;
    };
    let clock = below(&[*h1, *h2], 24) && below(&[*m1, *m2], 60) && below(&[*s1, *s2], 60);
    let zone = match rest.strip_prefix(b".") {
        None => rest,
        Some(rest) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &rest[digits..]
        }
    };
    let zone = match zone {
        b"Z" | b"z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => below(&[*h1, *h2], 24) && below(&[*m1, *m2], 60),
        _ => false,
    };
    is_date(date) && clock && zone
}

/// The form of RFC 9562 §4 with its hyphens.
fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits = |length: usize| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && hex(part))
    };
    lengths.into_iter().all(fits) && text.len() == 36
}

/// An absolute address with an authority, `https://…`; narrower than RFC 3986 on purpose.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let in_rest = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?@!$&'()*+,;=".contains(&byte);
    let port = host.split_once(':').map_or("0", |(_, port)| port);
    scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.bytes().all(in_host)
        && port.parse::<u16>().is_ok()
        && rest[host.len()..].bytes().all(in_rest)
}

/// Email addresses in common use: dotted words, an at sign, a domain of at least two labels.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else {
        return false;
    };
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
    let word = |part: &str| !part.is_empty() && part.bytes().all(in_name);
    let label = |part: &str| {
        let edge = |c: char| c.is_ascii_alphanumeric();
        part.len() <= LABEL_BYTES_MAX
            && part.starts_with(edge)
            && part.ends_with(edge)
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let top = domain.rsplit('.').next().unwrap_or_default();
    name.len() <= 64
        && domain.len() < 254
        && name.split('.').all(word)
        && domain.contains('.')
        && domain.split('.').all(label)
        && top.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_format_when_a_strict_reader_would_say_so() {
        for (text, format) in [
            ("2026-05-09T07:29:33Z", Format::DateTime),
            ("2026-05-09t07:29:33.123456+02:00", Format::DateTime),
            ("2024-02-29", Format::Date),
            ("018f6b2e-7c3a-7b1e-9f00-0123456789ab", Format::Uuid),
            ("https://example.com:8080/a?b=c", Format::Uri),
            ("file://host/x", Format::Uri),
            ("first.last+tag@mail.example.org", Format::Email),
            ("10.0.0.1", Format::Ipv4),
            ("2001:db8::1", Format::Ipv6),
        ] {
            assert_eq!(Format::of(text), format, "{text}");
        }
        for text in [
            "",
            "2026-05-09 07:29:33",
            "2026-05-09T07:29:33",
            "2026-05-09T07:29:33.Z",
            "2026-05-09T24:00:00Z",
            "2023-02-29",
            "2026-13-01",
            "018f6b2e7c3a7b1e9f000123456789ab",
            "https://",
            "https://a b/",
            "https://a:99999/",
            "not://[::1]/",
            "a@b",
            ".a@example.com",
            "a@-example.com",
            "1.2.3",
            "plain",
            "https://münchen.example/",
        ] {
            assert_eq!(Format::of(text), Format::Plain, "{text}");
        }
        assert_eq!(Format::Date.join(Format::Uuid), Format::Plain);
    }
}
