//! What results say about further pages. A program that asks for `has_more`, which no result has, takes the first page for all.

use std::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use limbeck_domain::text::cut;

use crate::names;

/// Bytes of a name that is shown.
const NAME_BYTES_MAX: usize = 40;

/// Names, folded, under which programs look for further pages.
const ABOUT_PAGES: [&str; 18] = [
    "cursor",
    "endcursor",
    "hasmore",
    "hasnext",
    "hasnextpage",
    "more",
    "next",
    "nextcursor",
    "nextlink",
    "nextpage",
    "nextpagetoken",
    "nexttoken",
    "pagetoken",
    "pagecount",
    "total",
    "totalcount",
    "totalitems",
    "totalpages",
];
/// Names, folded, of members that a result has where there is another page.
const SAYS_MORE: [&str; 9] = [
    "hasmore",
    "hasnext",
    "hasnextpage",
    "next",
    "nextcursor",
    "nextlink",
    "nextpage",
    "nextpagetoken",
    "nexttoken",
];

/// Whether a program that reads this asks whether there are more pages.
pub(super) fn is_about_pages(path: &[String]) -> bool {
    let name = path.last().map(|name| names::fold(name));
    name.is_some_and(|name| ABOUT_PAGES.contains(&name.as_str()))
}

/// What the results of one tool say together.
#[derive(Debug, Default)]
pub(super) struct SeenPages {
    /// The largest number of items of all pages that one of them says, and the number of items that were listed.
    total: Option<u64>,
    listed: u64,
    /// The largest number of pages, and that of the last page.
    pages: Option<u64>,
    last: u64,
    /// The member of the last result that says that there is another page.
    next: Option<String>,
}

impl SeenPages {
    /// Looks at the value of a result, JSON text.
    pub(super) fn see(&mut self, value: &str) {
        let mut reader = serde_json::Deserializer::from_str(value);
        let Ok(page) = reader.deserialize_any(PageReader { is_text: false }) else {
            return;
        };
        self.total = self.total.max(page.total);
        self.pages = self.pages.max(page.pages);
        self.listed = self.listed.saturating_add(page.listed);
        self.last = self.last.max(page.page.unwrap_or(0));
        self.next = page.next;
    }

    /// What says that there is more than was listed.
    pub(super) fn more(&self) -> Option<String> {
        if let Some(total) = self
            .total
            .filter(|total| *total > self.listed && self.listed > 0)
        {
            return Some(format!(
                "the results say that there are {total} and list {}",
                self.listed
            ));
        }
        if let Some(next) = &self.next {
            return Some(format!("the last result has a `{next}`"));
        }
        let pages = self
            .pages
            .filter(|pages| *pages > self.last && self.last > 0)?;
        Some(format!(
            "the results say that there are {pages} pages, and the last one read was {}",
            self.last
        ))
    }
}

/// What one result says of itself.
#[derive(Debug, Default)]
struct Page {
    total: Option<u64>,
    pages: Option<u64>,
    page: Option<u64>,
    /// Items of the longest list.
    listed: u64,
    /// The name of a member that says that there is another page.
    next: Option<String>,
}

/// Reads the members of an object, or of the object that a text holds.
#[derive(Clone, Copy)]
struct PageReader {
    /// Whether it is what a text holds.
    is_text: bool,
}

impl<'de> Visitor<'de> for PageReader {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, or a text that holds one")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Page, E> {
        if self.is_text || !text.trim_start().starts_with('{') {
            return Err(E::custom("no object"));
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        reader
            .deserialize_any(Self { is_text: true })
            .map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Page, A::Error> {
        let mut page = Page::default();
        while let Some(name) = object.next_key::<String>()? {
            let member = object.next_value::<Member>()?;
            match (names::fold(&name).as_str(), member) {
                (
                    "total" | "totalcount" | "totalitems" | "totalresults",
                    Member::Number(number),
                ) => {
                    page.total = Some(number);
                }
                ("pages" | "totalpages" | "pagecount" | "lastpage", Member::Number(number)) => {
                    page.pages = Some(number);
                }
                ("page" | "currentpage" | "pagenumber", Member::Number(number)) => {
                    page.page = Some(number);
                }
                (_, Member::List(items)) => page.listed = page.listed.max(items),
                (folded, Member::Number(1..) | Member::Other { is_something: true })
                    if SAYS_MORE.contains(&folded) =>
                {
                    page.next = Some(cut(&name, NAME_BYTES_MAX).to_owned());
                }
                _ => {}
            }
        }
        Ok(page)
    }
}

/// A member as far as it matters.
enum Member {
    Number(u64),
    /// A list with this number of items.
    List(u64),
    /// `is_something` for a text with content, `true` and an object.
    Other {
        is_something: bool,
    },
}

impl Member {
    fn other(is_something: bool) -> Self {
        Self::Other { is_something }
    }
}

impl<'de> serde::Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberReader;
        impl<'de> Visitor<'de> for MemberReader {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Member, E> {
                Ok(Member::Number(number))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Member, E> {
                Ok(Member::other(false))
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Member, E> {
                Ok(Member::other(false))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Member, E> {
                Ok(Member::other(value))
            }

            fn visit_unit<E: Error>(self) -> Result<Member, E> {
                Ok(Member::other(false))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Member, E> {
                Ok(Member::other(!text.is_empty()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Member, A::Error> {
                let mut items = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    items += 1;
                }
                Ok(Member::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Member, A::Error> {
                IgnoredAny.visit_map(object)?;
                Ok(Member::other(true))
            }
        }
        deserializer.deserialize_any(MemberReader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn more(results: &[&str]) -> Option<String> {
        let mut pages = SeenPages::default();
        for result in results {
            pages.see(result);
        }
        pages.more()
    }

    #[test]
    fn results_say_by_their_numbers_that_there_is_more() {
        let first = r#"{"items":[1,2],"page":1,"pages":3,"total":5}"#;
        let text = r#""{\"rows\":[{\"id\":1}],\"total_count\":9}""#;
        assert!(more(&[first]).unwrap().contains("there are 5 and list 2"));
        assert!(more(&[text]).unwrap().contains("there are 9 and list 1"));
        let pages = r#"{"items":[1],"page":1,"total_pages":2}"#;
        assert!(more(&[pages]).unwrap().contains("there are 2 pages"));
        let cursor = r#"{"items":[1,2],"next_cursor":"5"}"#;
        assert_eq!(
            more(&[cursor]).unwrap(),
            "the last result has a `next_cursor`"
        );
        // The controls: all was listed, nothing is said, nothing was found, and what is no object.
        for all in [
            &[first, r#"{"items":[3,4,5],"page":3,"pages":3,"total":5}"#][..],
            &[r#"{"items":[1]}"#],
            &[cursor, r#"{"items":[3],"next_cursor":null}"#],
            &[r#"{"items":[1],"has_more":false,"next":""}"#],
            &[r#"{"items":[],"total":5}"#],
            &[r#"{"items":[1],"total":-1,"x":{"y":[1]},"z":null,"w":1.5,"v":true}"#],
            &["[1,2]", "\"a\"", "{", "7"],
        ] {
            assert_eq!(more(all), None, "{all:?}");
        }
    }
}
