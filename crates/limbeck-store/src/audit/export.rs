//! A record as an extract has it: the line that was stored, then what can be said of it outside of the chain.
//!
//! ```text
//! {… the line …,"phash":"…","timestamp":"2026-05-09T07:29:33Z","codeHash":"…", … ,"detail":{"salt":"…","reason":"…"}}
//! ```
//!
//! `phash` is the hash of its principal's chain. The names after it are those of the log of S0 and repeat what the line has. `detail` is what
//! the line commits to and what can be erased. The check of an extract compares all of it with the line.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::chain::{self, Link, hex, link_of_hex};

/// What an extract adds first at the end of a line.
const PHASH: &str = ",\"phash\":\"";
/// What an extract adds last.
const DETAIL: &str = ",\"detail\":";

/// A line, as far as its chain needs it.
#[derive(Deserialize)]
pub(super) struct Extracted {
    pub(super) principal: String,
    pub(super) pseq: u64,
    pub(super) pprev: String,
}

/// A line as an extract has it; `None` for one that is no record. `detail` is JSON: the texts that the line commits to.
pub(crate) fn export_line(line: &str, salt: Option<&[u8]>, detail: Option<&str>) -> Option<String> {
    let mut exported = export_without_detail(line)?;
    let detail = detail.and_then(|detail| serde_json::from_str::<Map<String, Value>>(detail).ok());
    if let (Some(mut detail), Some(salt)) = (detail, salt) {
        detail.insert("salt".to_owned(), hex(salt).into());
        exported.pop();
        exported.push_str(DETAIL);
        exported.push_str(&Value::Object(detail).to_string());
        exported.push('}');
    }
    Some(exported)
}

fn export_without_detail(line: &str) -> Option<String> {
    let Extracted { pseq, pprev, .. } = serde_json::from_str(line).ok()?;
    let phash = chain::principal_link(&link_of_hex(&pprev)?, pseq, line);
    let body = line.strip_suffix('}')?;
    let earlier = names_of_s0(&serde_json::from_str(line).ok()?);
    let earlier = Value::Object(earlier).to_string();
    let earlier = earlier.trim_start_matches('{').trim_end_matches('}');
    let separator = if earlier.is_empty() { "" } else { "," };
    Some(format!(
        "{body}{PHASH}{}\"{separator}{earlier}}}",
        hex(&phash)
    ))
}

/// What the log of S0 says, as far as one record has it.
fn names_of_s0(record: &Value) -> Map<String, Value> {
    let mut said = Map::new();
    let mut say = |name: &str, value: Value| {
        if !value.is_null() {
            said.insert(name.to_owned(), value);
        }
    };
    say(
        "timestamp",
        record["time_us"]
            .as_u64()
            .map_or(Value::Null, |us| time(us).into()),
    );
    say("codeHash", record["program_sha256"].clone());
    say("codeLength", record["program_bytes"].clone());
    say("executor", record["language"].clone());
    say("clientId", record["principal"].clone());
    if let (Some(server), Some(tool)) = (record["server"].as_str(), record["tool"].as_str()) {
        say("toolsCalled", json!([format!("mcp__{server}__{tool}")]));
    }
    if let Some(took) = record["took_us"].as_u64() {
        say("executionTimeMs", (took / 1_000).into());
    }
    match record["event"].as_str() {
        Some("end") => say("success", (record["status"] == "completed").into()),
        Some("refuse") => say("success", false.into()),
        _ => {}
    }
    say("error", record["code"].clone());
    said
}

/// A time in UTC: `2026-05-09T07:29:33Z`. The days are counted as in the civil calendar (Howard Hinnant, `civil_from_days`).
fn time(us: u64) -> String {
    let seconds = us / 1_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The reverse of [`export_line`]: the line as it was stored, and its hash. `None` where what an extract added says something else
/// than the line.
pub(super) fn split_export(exported: &str) -> Option<(String, Link)> {
    let (body, rest) = exported.rsplit_once(PHASH)?;
    let hash = link_of_hex(rest.get(..64)?)?;
    let line = format!("{body}}}");
    // Extracts of earlier versions have the hash alone.
    if &rest[64..] == "\"}" {
        return Some((line, hash));
    }
    let (without_detail, detail) = match exported.rsplit_once(DETAIL) {
        Some((start, detail)) if start.len() > body.len() => {
            (format!("{start}}}"), Some(detail.strip_suffix('}')?))
        }
        Some(_) | None => (exported.to_owned(), None),
    };
    if export_without_detail(&line)? != without_detail {
        return None;
    }
    match detail {
        Some(detail) if !is_committed(&line, detail) => None,
        Some(_) | None => Some((line, hash)),
    }
}

/// Whether the texts of `detail` are those that the line commits to.
fn is_committed(line: &str, detail: &str) -> bool {
    let (Ok(Value::Object(detail)), Ok(line)) = (
        serde_json::from_str(detail),
        serde_json::from_str::<Value>(line),
    ) else {
        return false;
    };
    let salt = detail.get("salt").and_then(Value::as_str).and_then(unhex);
    let Some(salt) = salt else {
        return false;
    };
    detail
        .iter()
        .filter(|(key, _)| *key != "salt")
        .all(|(key, text)| {
            let mut hash = Sha256::new();
            hash.update(&salt);
            hash.update(text.as_str().unwrap_or_default());
            line[key]["sha256"] == hex(&hash.finalize())
        })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.is_ascii().then_some(text)?.as_bytes().chunks(2);
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    digits.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extract_repeats_the_record_in_the_names_of_s0_and_a_change_there_is_found() {
        let zeros = "0".repeat(64);
        let salt = [7; 16];
        let mut commitment = Sha256::new();
        commitment.update(salt);
        commitment.update("too \"much\"");
        let commitment = hex(&commitment.finalize());
        let line = format!(
            r#"{{"v":1,"seq":9,"time_us":1778311773000000,"principal":"local","pseq":1,"pprev":"{zeros}","event":"end","status":"completed","took_us":2500,"reason":{{"sha256":"{commitment}","bytes":10}}}}"#
        );
        let detail = r#"{"reason":"too \"much\""}"#;
        let exported = export_line(&line, Some(&salt), Some(detail)).unwrap();
        let parsed: Value = serde_json::from_str(&exported).unwrap();
        assert_eq!(parsed["timestamp"], "2026-05-09T07:29:33Z");
        assert_eq!(
            (&parsed["executionTimeMs"], &parsed["success"]),
            (&2.into(), &true.into())
        );
        assert_eq!(parsed["clientId"], "local");
        assert_eq!(parsed["detail"]["reason"], "too \"much\"");
        assert_eq!(split_export(&exported).unwrap().0, line);
        for (from, to) in [
            ("Ms\":2", "Ms\":3"),
            ("much", "muck"),
            ("\"success\":true", "\"success\":false"),
        ] {
            assert!(
                split_export(&exported.replace(from, to)).is_none(),
                "{from}"
            );
        }
        // After an erasure, and from an earlier version.
        let erased = export_line(&line, None, None).unwrap();
        assert_eq!(split_export(&erased).unwrap().0, line);
        let earlier = format!(
            "{}\"}}",
            &erased[..erased.find(PHASH).unwrap() + PHASH.len() + 64]
        );
        assert_eq!(split_export(&earlier).unwrap().0, line);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (us, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00Z"),
            (1_735_689_599_999_999, "2024-12-31T23:59:59Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(us), expected);
        }
    }
}
