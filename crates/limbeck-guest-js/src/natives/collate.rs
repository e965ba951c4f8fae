//! The order of texts for people: `localeCompare` and `Intl.Collator` in American English.
//!
//! A simplification of the Unicode Collation Algorithm (UTS #10) with the root order of CLDR for ASCII:
//! letters compare first without accents and case, then by accents, then by case, lower before upper.
//! Other letters follow in the order of their code points. Digits may compare as numbers.

use std::cmp::Ordering;
use std::iter::Peekable;

use icu_normalizer::DecomposingNormalizerBorrowed;
use rquickjs::Object;

use super::add;

/// Printable ASCII that is not a letter, in the order of the CLDR root collation.
const BEFORE_LETTERS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
/// Place of each ASCII character in [`BEFORE_LETTERS`], counted from 1; 0 when it is not there.
const ASCII_PLACES: [u8; 128] = {
    let mut places = [0; 128];
    let bytes = BEFORE_LETTERS.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        places[bytes[i] as usize] = i as u8 + 1;
        i += 1;
    }
    places
};

/// What of two texts counts as a difference, after the `sensitivity` of `Intl.Collator`.
#[derive(Clone, Copy)]
struct Sensitivity {
    accents: bool,
    case: bool,
}

/// One character as it counts in a comparison. Marks that stand on another character have no `base`.
#[derive(Clone, Copy)]
struct Element {
    base: Option<u32>,
    mark: u32,
    upper: bool,
}

pub(super) fn add_to(natives: &Object<'_>) -> rquickjs::Result<()> {
    add(natives, "collate", collate)
}

fn collate(a: String, b: String, sensitivity: String, numeric: bool, upper_first: bool) -> i32 {
    let sensitivity = Sensitivity {
        accents: matches!(sensitivity.as_str(), "accent" | "variant"),
        case: matches!(sensitivity.as_str(), "case" | "variant"),
    };
    compare(&a, &b, sensitivity, numeric, upper_first) as i32
}

fn compare(
    a: &str,
    b: &str,
    sensitivity: Sensitivity,
    numeric: bool,
    upper_first: bool,
) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let bases = if numeric {
        compare_numeric(bases(a).peekable(), bases(b).peekable())
    } else {
        bases(a).cmp(bases(b))
    };
    bases
        .then_with(|| {
            if sensitivity.accents {
                marks(a).cmp(marks(b))
            } else {
                Ordering::Equal
            }
        })
        .then_with(|| {
            let case = if sensitivity.case {
                cases(a).cmp(cases(b))
            } else {
                Ordering::Equal
            };
            if upper_first { case.reverse() } else { case }
        })
}

fn elements(text: &str) -> impl Iterator<Item = Element> + '_ {
    DecomposingNormalizerBorrowed::new_nfd()
        .normalize_iter(text.chars())
        .map(element)
}

fn bases(text: &str) -> impl Iterator<Item = u32> + '_ {
    elements(text).filter_map(|element| element.base)
}

/// A mark weighs more than none in its place, so a plain letter comes before an accented one.
fn marks(text: &str) -> impl Iterator<Item = u32> + '_ {
    elements(text).map(|element| element.mark)
}

fn cases(text: &str) -> impl Iterator<Item = bool> + '_ {
    elements(text)
        .filter(|element| element.base.is_some())
        .map(|element| element.upper)
}

fn element(character: char) -> Element {
    let mark = matches!(character, '\u{300}'..='\u{36f}');
    Element {
        base: (!mark).then(|| weight(character)),
        mark: if mark { u32::from(character) } else { 0 },
        upper: character.is_uppercase(),
    }
}

/// Controls and spaces, then ASCII punctuation, symbols and digits, then letters, case aside.
fn weight(character: char) -> u32 {
    const PUNCTUATION: u32 = 0x100;
    const OTHER: u32 = 0x200;
    if let Some(&place) = ASCII_PLACES.get(character as usize)
        && place > 0
    {
        return PUNCTUATION + u32::from(place);
    }
    let lower = character.to_lowercase().next().unwrap_or(character);
    if lower.is_ascii() && !lower.is_ascii_alphabetic() {
        return u32::from(lower);
    }
    OTHER + u32::from(lower)
}

/// The digit of a weight.
fn digit(digit_weight: u32) -> Option<u32> {
    let zero = weight('0');
    (zero..zero + 10)
        .contains(&digit_weight)
        .then(|| digit_weight - zero)
}

/// Compares like [`Iterator::cmp`], but runs of digits by their value, however long they are.
fn compare_numeric(
    mut a: Peekable<impl Iterator<Item = u32>>,
    mut b: Peekable<impl Iterator<Item = u32>>,
) -> Ordering {
    loop {
        let (Some(&left), Some(&right)) = (a.peek(), b.peek()) else {
            return a.peek().is_some().cmp(&b.peek().is_some());
        };
        let order = if digit(left).is_some() && digit(right).is_some() {
            let (left, right) = (take_number(&mut a), take_number(&mut b));
            left.len().cmp(&right.len()).then_with(|| left.cmp(&right))
        } else {
            a.next();
            b.next();
            left.cmp(&right)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Takes a run of digits without its leading zeros.
fn take_number(weights: &mut Peekable<impl Iterator<Item = u32>>) -> Vec<u32> {
    let mut number = vec![];
    while let Some(value) = weights.peek().copied().and_then(digit) {
        weights.next();
        if value > 0 || !number.is_empty() {
            number.push(value);
        }
    }
    number
}
