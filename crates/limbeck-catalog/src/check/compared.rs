//! Comparisons of a part of a result with texts that its type rules out: such a condition has always the same outcome.

use limbeck_domain::{Language, Site, SiteComparison};

use super::reads::path;
use super::{CallSiteCheck, Finding, FindingKind, results, shown};
use crate::nearest::nearest;
use crate::observed::Provenance;
use crate::tool::Tool;

/// Values listed in a message.
const VALUES_SHOWN_MAX: usize = 8;

impl CallSiteCheck<'_> {
    /// Warns of each comparison with texts that the declared type of a part rules out. A condition that compares a part with
    /// several texts is right when one of them is possible.
    pub(super) fn check_compared(&mut self, site: &Site, tool: &Tool) {
        let declared = tool
            .output_shape()
            .filter(|shape| matches!(shape.provenance, Provenance::Declared));
        let Some(shape) = declared else {
            return;
        };
        for comparison in &site.compared {
            if let Some(values) = results::texts(shape.schema, &comparison.path)
                && !values.is_empty()
                && let Some(finding) = ruled_out(tool, comparison, &values)
            {
                self.warn(finding);
            } else if let Some(kind) = results::plain_kind(shape.schema, &comparison.path)
                && let Some(finding) = no_text(tool, comparison, kind, self.options.language)
            {
                self.warn(finding);
            }
        }
    }
}

fn ruled_out(tool: &Tool, comparison: &SiteComparison, values: &[String]) -> Option<Finding> {
    // Programs compare with the empty text to see whether there is one.
    let is_possible = |text: &String| text.is_empty() || values.contains(text);
    let mut ruled_out: Vec<&String> = comparison.values.iter().collect();
    if comparison.values.iter().any(is_possible) {
        // One more than there are does no harm, unless it is one of them in other letters.
        ruled_out.retain(|text| is_in_other_letters(text, comparison, values));
    }
    let asked = ruled_out.first()?.as_str();
    let quoted = |texts: &mut dyn Iterator<Item = &String>| -> String {
        let shown: Vec<String> = texts.map(|text| format!("\"{}\"", shown(text))).collect();
        shown.join(", ")
    };
    let message = format!(
        "`{}` of the result of `{}` is never {}",
        path(&comparison.path),
        tool.call_expression(),
        quoted(&mut ruled_out.iter().copied())
    );
    let near = nearest(asked, values.iter().map(|value| (value.as_str(), value)));
    let others = values.iter().filter(|value| !near.contains(value));
    let mut listed = near.iter().copied().chain(others).take(VALUES_SHOWN_MAX);
    let more = match values.len().saturating_sub(VALUES_SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hint = format!("its values are {}{more}", quoted(&mut listed));
    let place = (comparison.line, comparison.column);
    Some(Finding::new(place, FindingKind::Result, message).with_hint(Some(hint)))
}

/// A number or a truth value that is compared with a text.
fn no_text(
    tool: &Tool,
    comparison: &SiteComparison,
    kind: &str,
    language: Language,
) -> Option<Finding> {
    let text = comparison.values.iter().find(|text| !text.is_empty())?;
    let message = format!(
        "`{}` of the result of `{}` is of type {kind} and never the text \"{}\"",
        path(&comparison.path),
        tool.call_expression(),
        shown(text)
    );
    let hint = match (kind, language) {
        ("boolean", Language::Typescript) => "compare it with `true` or `false`, without quotes",
        ("boolean", Language::Python) => "compare it with `True` or `False`, without quotes",
        _ => "compare it with a number, without quotes",
    };
    let place = (comparison.line, comparison.column);
    let finding = Finding::new(place, FindingKind::Result, message);
    Some(finding.with_hint(Some(hint.to_owned())))
}

/// Whether a text is a value in other letters, as "Open" for "open", that the program does not compare with itself.
fn is_in_other_letters(text: &str, comparison: &SiteComparison, values: &[String]) -> bool {
    let folded = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let asked = folded(text);
    !values.iter().any(|value| value == text)
        && values
            .iter()
            .any(|value| folded(value) == asked && !comparison.values.contains(value))
}
