//! Fitting of an answer into the token budget of its reader.
//!
//! An answer within its budget stays as it is. The parts of a larger one share the budget equally, and what one part does
//! not need goes to the others. A part above its share is kept as an artifact, as far as it is here, and the answer describes the
//! artifact, its size, and how to read it. Every cut is marked.

mod parts;
mod views;

use limbeck_domain::limits::OUTPUT_BYTES_MAX;
use limbeck_domain::{ArtifactId, ArtifactView, Envelope};

use super::paused::shorten_pending;
use crate::render::{self, Render};
use crate::tokens;
use parts::{AnswerPart, Piece};
use views::{ends, opening, shortened};

/// Times the shares are made smaller until the answer fits: what an artifact is described with counts too.
const ROUNDS: usize = 6;
/// Bytes kept of the hint of an error that exceeds its share.
const HINT_BYTES: usize = 200;
/// An error this short is never left out, so that the reason of a failure stays readable.
const REASON_TOKENS: usize = 128;

/// A part of an answer to keep as an artifact.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: ArtifactId,
    pub(super) what: &'static str,
    pub(super) media_type: &'static str,
    pub(super) content: Vec<u8>,
}

/// An answer that fits, and what has to be kept for it.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) envelope: Envelope,
    /// Rendering of `envelope`; `None` when it has changed since it was measured.
    pub(super) text: Option<String>,
    pub(super) kept: Vec<Kept>,
}

/// The answer in at most `budget` tokens of its rendering and [`OUTPUT_BYTES_MAX`].
pub(super) fn fit(mut envelope: Envelope, budget: usize, render: Render) -> Fitted {
    // By how much it exceeds the budget is not asked here, and counting takes most of the time of a large answer.
    let (text, excess) = measure(&envelope, budget, budget, render);
    if excess.is_none() {
        return Fitted {
            envelope,
            text: Some(text),
            kept: Vec::new(),
        };
    }
    shorten_warnings(&mut envelope, budget / 8);
    shorten_pending(&mut envelope, budget / 4);
    // What is left has no part that could be large, so that each round copies little.
    let pieces = Piece::take_from(&mut envelope, budget);
    let mut room = budget.saturating_sub(skeleton_tokens(&envelope));
    for _ in 0..ROUNDS {
        let (fitted, spilled) = apply(&envelope, &pieces, room, budget);
        let (text, excess) = measure(&fitted, budget, 2 * budget, render);
        match excess {
            None => return kept(fitted, Some(text), pieces, &spilled),
            Some(over) => room = room.saturating_sub(over + room / 5),
        }
    }
    let (mut fitted, spilled) = apply(&envelope, &pieces, 0, budget);
    let (text, excess) = measure(&fitted, budget, 2 * budget, render);
    if excess.is_none() {
        return kept(fitted, Some(text), pieces, &spilled);
    }
    without_emitted_views(&mut fitted);
    kept(fitted, None, pieces, &spilled)
}

/// Replaces the views of emitted texts by their number.
fn without_emitted_views(envelope: &mut Envelope) {
    let views = envelope.artifacts.len();
    let name = AnswerPart::Emitted(0).as_str();
    envelope.artifacts.retain(|view| view.what != name);
    let left_out = views - envelope.artifacts.len();
    if left_out > 0 {
        envelope.warnings.push(format!(
            "{left_out} emitted texts left out: `artifacts.list()` lists them"
        ));
    }
}

fn kept(envelope: Envelope, text: Option<String>, pieces: Vec<Piece>, spilled: &[usize]) -> Fitted {
    let pieces = pieces.into_iter().enumerate();
    let spilled = pieces.filter(|(place, _)| spilled.contains(place));
    let kept = spilled.map(|(_, piece)| Kept {
        id: piece.id().clone(),
        what: piece.part.as_str(),
        media_type: piece.part.media_type(),
        content: piece.text.into_bytes(),
    });
    Fitted {
        envelope,
        text,
        kept: kept.collect(),
    }
}

/// Fallback: drops the value and names the execution.
pub(super) fn nothing_shown(mut envelope: Envelope) -> Fitted {
    envelope.value = None;
    envelope.warnings.push(format!(
        "the value could not be shown; to print it: `limbeck executions {} --value`",
        envelope.execution_id
    ));
    Fitted {
        envelope,
        text: None,
        kept: Vec::new(),
    }
}

/// Points a view to the journal because its artifact could not be kept.
pub(super) fn not_kept(envelope: &mut Envelope, id: &ArtifactId) {
    for view in &mut envelope.artifacts {
        if view.id.as_ref() == Some(id) {
            view.id = None;
            let what = if view.what == "value" {
                "--value"
            } else {
                "--json"
            };
            view.open = format!("`limbeck executions {} {what}`", envelope.execution_id);
        }
    }
    envelope.warnings.push(
        "the state could not be written, so the parts left out are not kept as artifacts"
            .to_owned(),
    );
}

/// The text of an answer, and the tokens by which it exceeds its budget; `None` when it fits. No part of it is counted
/// beyond `counted_max` tokens.
fn measure(
    envelope: &Envelope,
    budget: usize,
    counted_max: usize,
    render: Render,
) -> (String, Option<usize>) {
    let text = render::text(envelope, render);
    let excess = excess(&text, envelope, budget, counted_max);
    (text, excess)
}

fn excess(text: &str, envelope: &Envelope, budget: usize, counted_max: usize) -> Option<usize> {
    let emitted = envelope.emitted.iter();
    let emitted = emitted.filter_map(|block| block.text.as_deref());
    let texts: Vec<&str> = emitted.chain([text]).collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    if bytes > OUTPUT_BYTES_MAX {
        return Some(budget);
    }
    // No token is shorter than a byte.
    if bytes <= budget {
        return None;
    }
    let used: usize = texts
        .iter()
        .map(|text| tokens_within(text, counted_max))
        .sum();
    used.checked_sub(budget).filter(|over| *over > 0)
}

/// Tokens of a text, one more than `max` when there are more.
fn tokens_within(text: &str, max: usize) -> usize {
    tokens::at_most(text, max).unwrap_or(max + 1)
}

/// Tokens of an answer whose parts were taken.
fn skeleton_tokens(skeleton: &Envelope) -> usize {
    serde_json::to_string(skeleton).map_or(0, |json| tokens::count(&json))
}

/// Keeps the first warnings and counts the rest.
fn shorten_warnings(envelope: &mut Envelope, share: usize) {
    let mut used = 0;
    let fitting = envelope.warnings.iter().take_while(|warning| {
        used += tokens_within(warning, share);
        used <= share
    });
    let fitting = fitting.count();
    let more = envelope.warnings.len() - fitting;
    if more > 0 {
        envelope.warnings.truncate(fitting);
        envelope.warnings.push(format!(
            "{more} more warnings: `limbeck executions {} --json`",
            envelope.execution_id
        ));
    }
}

/// Equal shares of `room`; what a part does not need goes to the larger ones.
fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|part| sizes[*part]);
    let mut shares = vec![0; sizes.len()];
    let mut left = room;
    for (done, part) in order.into_iter().enumerate() {
        shares[part] = sizes[part].min(left / (sizes.len() - done));
        left -= shares[part];
    }
    shares
}

/// The answer with what fits into `room` of its pieces, and the places of those that do not.
fn apply(
    skeleton: &Envelope,
    pieces: &[Piece],
    room: usize,
    budget: usize,
) -> (Envelope, Vec<usize>) {
    let mut envelope = skeleton.clone();
    let sizes: Vec<usize> = pieces.iter().map(|piece| piece.tokens).collect();
    let (mut spilled, mut names) = (Vec::new(), Vec::new());
    for (place, (piece, share)) in pieces.iter().zip(shares(&sizes, room)).enumerate() {
        let is_reason = piece.part == AnswerPart::Error && piece.tokens <= REASON_TOKENS;
        if piece.tokens <= share || is_reason {
            piece.part.put(&mut envelope, piece.text.clone());
        } else {
            spill(&mut envelope, piece, share);
            spilled.push(place);
            names.push(piece.part.as_str());
        }
    }
    if !names.is_empty() {
        names.dedup();
        let left_out = skeleton.printed_left_out;
        let is_cut = |name: &&str| {
            let printed = [AnswerPart::Stdout.as_str(), AnswerPart::Stderr.as_str()];
            left_out > 0 && printed.contains(name)
        };
        let (cut, whole): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_cut);
        let mut kept = Vec::new();
        if !whole.is_empty() {
            kept.push(format!("{} kept whole as an artifact", whole.join(", ")));
        }
        if !cut.is_empty() {
            kept.push(format!(
                "{} kept as an artifact, without the {left_out} bytes that were left out",
                cut.join(", ")
            ));
        }
        envelope.warnings.push(format!(
            "over max_output_tokens ({budget}): {}, see `artifacts`; return less, or raise `max_output_tokens`",
            kept.join("; ")
        ));
    }
    (envelope, spilled)
}

/// Replaces a piece by a view of it in about `share` tokens.
fn spill(envelope: &mut Envelope, piece: &Piece, share: usize) {
    let (part, text) = (piece.part, &piece.text);
    let view = if part == AnswerPart::Value {
        piece.value_view(share)
    } else {
        part.put(
            envelope,
            ends(text, |shown| part.tokens(shown, share).is_some(), share),
        );
        piece.text_view()
    };
    if let (AnswerPart::Error, Some(error)) = (part, &mut envelope.error) {
        error.hint = error.hint.take().map(|hint| shortened(&hint, HINT_BYTES));
    }
    if let AnswerPart::Emitted(place) = part
        && let Some(block) = envelope.emitted.get_mut(place)
    {
        block.block = None;
    }
    let id = piece.id();
    envelope.artifacts.push(ArtifactView {
        what: part.as_str().to_owned(),
        open: opening(part, &view).to_owned(),
        id: Some(id.clone()),
        ..view
    });
}

#[cfg(test)]
mod tests {
    use limbeck_domain::limits::{EMITTED_MAX, OUTPUT_TOKENS_MIN};
    use limbeck_domain::{Emitted, ErrorKind, ExecutionId, ExecutionStatus, ProgramError};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    fn envelope(value: Option<&Value>, stdout: &str) -> Envelope {
        Envelope {
            value: value.map(|value| RawValue::from_string(value.to_string()).unwrap()),
            stdout: stdout.to_owned(),
            ..Envelope::new(ExecutionId::new("ex_1"), ExecutionStatus::Completed)
        }
    }

    fn tokens_of(envelope: &Envelope) -> usize {
        tokens::count(&render::text(envelope, Render::Json))
    }

    #[test]
    fn an_answer_within_its_budget_is_not_changed_and_one_above_it_is_within() {
        let rows: Vec<Value> = (0..900)
            .map(|id| json!({"id": id, "name": "a name"}))
            .collect();
        let whole = envelope(Some(&json!(rows)), "printed\n");
        let tokens = tokens_of(&whole);
        let same = fit(whole.clone(), tokens, Render::Json);
        assert_eq!(
            serde_json::to_string(&same.envelope).unwrap(),
            serde_json::to_string(&whole).unwrap()
        );
        assert!(same.kept.is_empty());

        let less = fit(whole, tokens - 1, Render::Json);
        assert!(tokens_of(&less.envelope) < tokens);
        assert!(less.envelope.value.is_none());
        assert_eq!(less.envelope.stdout, "printed\n");
        let view = &less.envelope.artifacts[0];
        assert_eq!(
            view.shape.as_deref(),
            Some("{ id: number, name: string }[]")
        );
        assert_eq!(view.counts.items, Some(900));
        assert_eq!(less.kept[0].content, json!(rows).to_string().into_bytes());
        assert_eq!(view.id.as_ref(), Some(&less.kept[0].id));
        let sample = view.sample.as_ref().unwrap().get();
        assert!(
            sample.contains("left out") && sample.contains("\"id\":899"),
            "{sample}"
        );
    }

    #[test]
    fn printed_text_keeps_its_ends_and_counts_the_lines_between() {
        let lines: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
        let fitted = fit(
            envelope(Some(&json!({"a": 1})), &lines),
            1_000,
            Render::Json,
        );
        let shown = &fitted.envelope.stdout;
        assert!(
            shown.starts_with("line 0\nline 1\n") && shown.ends_with("line 4999\n"),
            "{shown}"
        );
        let between: usize = shown
            .lines()
            .find_map(|line| {
                line.strip_prefix("… ")?
                    .strip_suffix(" lines left out")?
                    .parse()
                    .ok()
            })
            .unwrap();
        assert_eq!(between + shown.lines().count() - 1, 5_000);
        assert_eq!(fitted.envelope.value.as_ref().unwrap().get(), r#"{"a":1}"#);
        assert_eq!(fitted.kept[0].content, lines.as_bytes());
        assert_eq!(fitted.envelope.artifacts[0].counts.lines, Some(5_000));
    }

    #[test]
    fn printed_text_that_was_cut_before_is_not_called_whole() {
        let lines: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
        let rows: Vec<Value> = (0..5_000).map(|id| json!({"id": id})).collect();
        let whole = envelope(Some(&json!(rows)), &lines);
        let cut = Envelope {
            printed_left_out: 4_711,
            ..whole.clone()
        };
        let warning = |envelope: Envelope| {
            let warnings = fit(envelope, 1_000, Render::Json).envelope.warnings;
            warnings.last().unwrap().clone()
        };
        let of_cut = warning(cut);
        for part in [
            "value kept whole as an artifact",
            "stdout kept as an artifact, without the 4711 bytes",
        ] {
            assert!(of_cut.contains(part), "{of_cut}");
        }
        // The control.
        let of_whole = warning(whole);
        assert!(
            of_whole.contains("value, stdout kept whole as an artifact"),
            "{of_whole}"
        );
    }

    #[test]
    fn printed_line_ends_are_counted_as_they_are_written() {
        let mut failed = envelope(None, &"\n".repeat(64 << 10));
        failed.error = Some(ProgramError::new(ErrorKind::Exception, "E: the reason"));
        for budget in [OUTPUT_TOKENS_MIN, 2_000, 10_000] {
            let fitted = fit(failed.clone(), budget, Render::Json);
            let tokens = tokens_of(&fitted.envelope);
            assert!(tokens <= budget, "{tokens} of {budget}");
            // Most of what there was room for is shown: the first estimate was right.
            assert!(tokens > budget / 8, "{tokens} of {budget}");
            assert_eq!(fitted.envelope.error.unwrap().message, "E: the reason");
        }
    }

    #[test]
    fn every_answer_gets_into_the_smallest_budget_whatever_its_parts_are() {
        let long = "word ".repeat(20_000);
        let mut all = envelope(Some(&json!({"a": long, "b": [long, long]})), &long);
        all.stderr = "é".repeat(30_000);
        all.warnings = vec!["a warning of some length".repeat(20); 40];
        let error = ProgramError::new(ErrorKind::Exception, "E: ".to_owned() + &long[..8_000]);
        all.error = Some(error.with_hint(&long[..8_000]));
        all.emitted = (0..EMITTED_MAX)
            .map(|_| Emitted {
                kind: "text".to_owned(),
                mime_type: None,
                bytes: long.len(),
                text: Some(long.clone()),
                block: None,
            })
            .collect();
        for budget in [OUTPUT_TOKENS_MIN, 2_000, 10_000] {
            let fitted = fit(all.clone(), budget, Render::Json);
            let texts = fitted
                .envelope
                .emitted
                .iter()
                .filter_map(|block| block.text.as_deref());
            let tokens = tokens_of(&fitted.envelope) + texts.map(tokens::count).sum::<usize>();
            assert!(
                tokens <= budget,
                "{tokens} of {budget}: {:?}",
                fitted.envelope
            );
            assert!(fitted.envelope.error.is_some());
            let text = render::text(&fitted.envelope, Render::Json);
            assert!(
                text.contains("left out") && text.contains("more warnings"),
                "{text}"
            );
        }
    }

    #[test]
    fn small_parts_stay_whole_beside_large_ones() {
        assert_eq!(shares(&[10, 1_001, 290], 600), [10, 300, 290]);
        assert_eq!(shares(&[10, 1_001, 300], 600), [10, 295, 295]);
        assert_eq!(shares(&[1_001, 1_001], 600), [300, 300]);
        assert_eq!(shares(&[], 600), Vec::<usize>::new());
    }
}
