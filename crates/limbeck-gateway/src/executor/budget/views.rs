//! Views of parts that are kept as artifacts: their counts, a sample, and the ends of a text.

use limbeck_domain::text::cut;
use limbeck_domain::{ArtifactCounts, ArtifactView};
use serde_json::value::RawValue;

use super::parts::AnswerPart;
use crate::artifacts::outline::{self, SampleDetail};
use crate::tokens;

/// Bytes that are counted to estimate the tokens of a large text.
const ESTIMATED_FROM_BYTES: usize = 32 << 10;

/// How a program reads the artifact, whose `id` is in the same view.
pub(super) fn opening(part: AnswerPart, view: &ArtifactView) -> &'static str {
    let shape = view.shape.as_deref().unwrap_or_default();
    match part {
        AnswerPart::Value if shape.ends_with("[]") => {
            "for await (const item of artifacts.open(id)), or .select(\"$[0]\")"
        }
        AnswerPart::Value => "artifacts.open(id).json(), or .select(\"$.path\")",
        AnswerPart::Text => {
            "artifacts.open(id).text(), or its lines: for await (const line of artifacts.open(id))"
        }
        AnswerPart::Stdout | AnswerPart::Stderr | AnswerPart::Error | AnswerPart::Emitted(_) => {
            "artifacts.open(id).text()"
        }
    }
}

/// What the view of a value shows in every share: it takes reading the whole value.
pub(super) struct ValueOutline {
    shape: String,
    counts: ArtifactCounts,
}

impl ValueOutline {
    pub(super) fn of(json: &str) -> Self {
        Self {
            shape: outline::shape(json),
            counts: ArtifactCounts {
                bytes: json.len(),
                tokens_estimate: estimate(json),
                items: outline::count(json),
                lines: None,
            },
        }
    }
}

/// View of a value: a sample of at most `share` tokens, empty when none fits.
pub(super) fn value_view(json: &str, of: &ValueOutline, share: usize) -> ArtifactView {
    // A token of JSON has three to four bytes; what is longer than six a token cannot fit.
    let bytes_max = share.saturating_mul(6);
    let shape = shortened(&of.shape, (share * 2).max(60));
    let shape_tokens = tokens::count(&shape);
    let sample = SampleDetail::LEVELS.into_iter().find_map(|detail| {
        let sample = outline::sample(json, detail, bytes_max)?;
        tokens::at_most(&sample, share.saturating_sub(shape_tokens))?;
        RawValue::from_string(sample).ok()
    });
    ArtifactView {
        id: None,
        what: String::new(),
        shape: Some(shape),
        counts: of.counts,
        sample,
        open: String::new(),
    }
}

pub(super) fn text_view(text: &str) -> ArtifactView {
    ArtifactView {
        id: None,
        what: String::new(),
        shape: None,
        counts: ArtifactCounts {
            bytes: text.len(),
            tokens_estimate: estimate(text),
            items: None,
            lines: Some(text.lines().count()),
        },
        sample: None,
        open: String::new(),
    }
}

/// Tokens of a text, from those of its beginning.
fn estimate(text: &str) -> usize {
    let counted = cut(text, ESTIMATED_FROM_BYTES);
    let tokens = tokens::count(counted);
    if counted.len() == text.len() {
        return tokens;
    }
    let scaled = tokens as u128 * text.len() as u128 / counted.len().max(1) as u128;
    usize::try_from(scaled).unwrap_or(usize::MAX)
}

pub(super) fn shortened(text: &str, bytes: usize) -> String {
    let kept = cut(text, bytes);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{kept}… {} bytes left out", text.len() - kept.len())
}

/// The first and last lines of a text in about `tokens`, of which as much as `fits`, and between them how much is
/// left out.
pub(super) fn ends(text: &str, fits: impl Fn(&str) -> bool, tokens: usize) -> String {
    let mut bytes = tokens.saturating_mul(4).min(text.len() / 2);
    while bytes >= 16 {
        let shown = ends_of(text, bytes);
        if fits(&shown) {
            return shown;
        }
        bytes = bytes * 2 / 3;
    }
    left_out(text, true)
}

/// The ends of a text in about `bytes`: two thirds from its beginning, whole lines where there are some.
fn ends_of(text: &str, bytes: usize) -> String {
    let head = cut(text, bytes * 2 / 3);
    let head_line = head.rfind('\n').filter(|at| *at >= head.len() / 2);
    let head_end = head_line.map_or(head.len(), |at| at + 1);
    let mut tail_start = text.len() - bytes / 3;
    while !text.is_char_boundary(tail_start) {
        tail_start += 1;
    }
    let tail = &text[tail_start..];
    let tail_line = tail.find('\n').filter(|at| *at < tail.len() / 2);
    tail_start += tail_line.map_or(0, |at| at + 1);
    let whole_lines = head_line.is_some() && tail_line.is_some();
    let note = left_out(&text[head_end..tail_start], whole_lines);
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    let gap = if whole_lines { "" } else { " " };
    let end = if whole_lines { "\n" } else { " " };
    format!("{head}{gap}{note}{end}{tail}")
}

fn left_out(text: &str, whole_lines: bool) -> String {
    if whole_lines {
        format!("… {} lines left out", text.lines().count())
    } else {
        format!("… {} characters left out …", text.chars().count())
    }
}
