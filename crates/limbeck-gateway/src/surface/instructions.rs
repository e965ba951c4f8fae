//! What a client is told once, when it connects: how to use the two tools, and which servers stand behind them.
//!
//! The text is made from the catalogue as it is known, so nothing waits for a server; the same catalogue gives
//! the same text. It has at most [`TOKENS_MAX`] tokens, whatever the servers are called and say of
//! themselves. Counting exactly takes a vocabulary of 50 MB, which a handshake must not wait for, so a rule
//! of thumb counts that errs upwards; the tests compare it with the vocabulary.

use std::fmt::Write as _;

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::text::{clean_line, cut};

/// Tokens (o200k) of the whole text.
#[cfg(test)]
const TOKENS_MAX: usize = 600;
/// The same by [`cost`]. Made-up words, which no honest server consists of, cost up to a seventh more than it says.
const COST_MAX: usize = 470;
/// Bytes of the whole text. Claude Code cuts instructions behind 4,096 characters; what it shows has room.
const BYTES_MAX: usize = 3_072;
/// Bytes of a server's name. Longer ones exist in hostile files alone.
const NAME_BYTES_MAX: usize = 48;
/// Bytes that each server may say of itself, tried in this order until all servers fit.
const LINE_BYTES: [usize; 4] = [120, 80, 56, 36];

const INTRODUCTION: &str = "Limbeck runs TypeScript and Python programs that call the tools of all connected MCP servers. \
Use `search` to find tools with their exact signatures, then `execute` one program that calls as many of them as the task needs \
(`await tools.server.tool({...})`, loops, `Promise.all`) and returns only what you want to read.";

/// The instructions over `catalog`: every server with the number of its tools and one line about it. Where that
/// is too much the lines get shorter, then names and numbers stand alone, then the last servers are left out.
pub(crate) fn instructions(catalog: &Catalog) -> String {
    let total = catalog.servers().len();
    if total == 0 {
        return format!("{INTRODUCTION}\nNo MCP servers are configured.");
    }
    LINE_BYTES
        .into_iter()
        .map(|line_bytes| with_lines(catalog, line_bytes))
        .find(|text| fits(text))
        .unwrap_or_else(|| names_alone(catalog, total))
}

fn fits(text: &str) -> bool {
    text.len() <= BYTES_MAX && cost(text) <= COST_MAX
}

fn with_lines(catalog: &Catalog, line_bytes: usize) -> String {
    let total = catalog.servers().len();
    let mut text = format!("{INTRODUCTION}\nServers ({total} of {total} shown) and their tools:");
    for server in catalog.servers() {
        let _ = write!(text, "\n- {}", name(server));
        let tools = server.tools().len();
        if tools == 0 {
            // Nothing is known of it yet.
            continue;
        }
        let _ = write!(text, " ({tools})");
        let line = server.line();
        let shown = cut(&line, line_bytes).trim_end();
        if !shown.is_empty() {
            let more = if shown.len() < line.len() { "…" } else { "" };
            let _ = write!(text, ": {shown}{more}");
        }
        if text.len() > BYTES_MAX {
            break;
        }
    }
    text
}

fn names_alone(catalog: &Catalog, total: usize) -> String {
    let mut shown = 0;
    let mut list = String::new();
    // Room for the number shown, which is known at the end.
    let head = |shown: usize| {
        format!(
            "{INTRODUCTION}\nServers ({shown} of {total} shown, `search` finds all) and their tools: "
        )
    };
    let mut left = COST_MAX.saturating_sub(cost(&head(total)));
    for server in catalog.servers() {
        let mut entry = name(server);
        if !server.tools().is_empty() {
            let _ = write!(entry, " {}", server.tools().len());
        }
        if shown > 0 {
            entry.insert_str(0, ", ");
        }
        let entry_cost = cost(&entry);
        if entry_cost > left || list.len() + entry.len() > BYTES_MAX - head(total).len() {
            break;
        }
        left -= entry_cost;
        list.push_str(&entry);
        shown += 1;
    }
    head(shown) + &list
}

/// A name on one line, without what could pass for anything else.
fn name(server: &ServerTools) -> String {
    let name = clean_line(server.name().as_str(), NAME_BYTES_MAX);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Tokens of a text, rather too many than too few: by class of character and length of word, and never fewer
/// than one in three and a third bytes.
fn cost(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut tokens = 0;
    let mut at = 0;
    while at < bytes.len() {
        let run = run_at(&bytes[at..]);
        tokens += run_cost(&bytes[at..at + run]);
        at += run;
    }
    tokens.max(text.len() * 3 / 10)
}

/// Bytes of the run that begins `bytes`: letters up to a change from lower to upper case, digits, or one byte.
fn run_at(bytes: &[u8]) -> usize {
    let is_part: fn(u8, u8) -> bool = match bytes[0] {
        first if first.is_ascii_alphabetic() => |before, byte| {
            byte.is_ascii_alphabetic()
                && !(byte.is_ascii_uppercase() && before.is_ascii_lowercase())
        },
        first if first.is_ascii_digit() => |_, byte| byte.is_ascii_digit(),
        _ => return 1,
    };
    let pairs = bytes.iter().zip(&bytes[1..]);
    1 + pairs
        .take_while(|(before, byte)| is_part(**before, **byte))
        .count()
}

fn run_cost(run: &[u8]) -> usize {
    match run[0] {
        // A space belongs to the word behind it.
        b' ' => 0,
        first if first.is_ascii_digit() => run.len().div_ceil(3),
        first if first.is_ascii_alphabetic() => {
            let capitals = run.iter().filter(|byte| byte.is_ascii_uppercase()).count();
            if is_unlike_a_word(run) {
                run.len()
            } else if capitals > 1 {
                run.len().div_ceil(2)
            } else if run.len() >= 10 {
                // Compounds, and what nobody says.
                (2 * run.len()).div_ceil(5)
            } else {
                run.len().div_ceil(6)
            }
        }
        // Every byte that is no letter, a part of one of another script included.
        _ => 1,
    }
}

/// Whether five consonants stand in a row.
fn is_unlike_a_word(run: &[u8]) -> bool {
    let is_consonant = |byte: &u8| !b"aeiouyAEIOUY".contains(byte);
    run.windows(5).any(|part| part.iter().all(is_consonant))
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ToolDefinition, ToolId};
    use serde_json::json;

    use super::*;
    use crate::tokens;

    /// What Claude Code shows of instructions.
    const CLAUDE_CODE_CHARS_MAX: usize = 4_096;

    fn server(name: &str, tools: usize, about: Option<&str>) -> ServerTools {
        let tool = |n| ToolDefinition {
            id: ToolId::new(name, format!("list_things_{n}")),
            title: None,
            description: Some("Lists things.".to_owned()),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: Default::default(),
        };
        let tools = (0..tools).map(tool).collect();
        ServerTools::new(name.into(), tools, about.map(str::to_owned))
    }

    fn told(servers: Vec<ServerTools>) -> String {
        let text = instructions(&Catalog::new(servers.clone()));
        let tokens = tokens::count(&text);
        assert!(tokens <= TOKENS_MAX, "{tokens} tokens:\n{text}");
        assert!(text.chars().count() <= CLAUDE_CODE_CHARS_MAX);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n'),
            "{text:?}"
        );
        let mut backwards = servers;
        backwards.reverse();
        assert_eq!(
            instructions(&Catalog::new(backwards)),
            text,
            "the order of configuration shows"
        );
        text
    }

    /// A text of `bytes` bytes from an alphabet, always the same.
    fn noise(alphabet: &[&str], bytes: usize, seed: u64) -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut text = String::new();
        while text.len() < bytes {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(alphabet[(state % alphabet.len() as u64) as usize]);
        }
        text
    }

    #[test]
    fn few_servers_are_each_told_with_their_tools_and_their_first_sentence() {
        let text = told(vec![
            server(
                "github",
                117,
                Some("# GitHub\n\nIssues, pull requests and code. More follows."),
            ),
            server("files", 2, None),
            server("new", 0, None),
        ]);
        assert!(text.contains("Servers (3 of 3 shown)"), "{text}");
        assert!(
            text.contains("\n- github (117): Issues, pull requests and code."),
            "{text}"
        );
        assert!(
            text.contains("\n- files (2): list_things_0, list_things_1"),
            "{text}"
        );
        assert!(text.ends_with("\n- new"), "{text}");
    }

    #[test]
    fn lines_get_shorter_before_a_server_is_left_out() {
        let about = "Gives an assistant access to projects, tickets, members and the documents of a workspace.";
        let servers = |count: usize| -> Vec<ServerTools> {
            let names = (0..count).map(|n| format!("server-{n:03}"));
            names.map(|name| server(&name, 40, Some(about))).collect()
        };
        let ten = told(servers(10));
        assert!(
            ten.contains("Servers (10 of 10 shown)") && ten.contains("access to projects"),
            "{ten}"
        );
        let seventy = told(servers(70));
        assert!(seventy.contains("server-069 40"), "{seventy}");
        assert!(seventy.contains("Servers (70 of 70 shown"), "{seventy}");
        let many = told(servers(512));
        assert!(
            many.contains(" of 512 shown, `search` finds all)"),
            "{many}"
        );
    }

    #[test]
    fn thousands_of_tools_take_no_more_than_their_number() {
        let text = told(vec![
            server("huge", 2_000, None),
            server("large", 1_000, None),
        ]);
        assert!(text.contains("huge (2000): list_things_0, "), "{text}");
    }

    #[test]
    fn hostile_names_and_texts_stay_within_the_budget_and_on_their_lines() {
        let alphabets: [&[&str]; 7] = [
            &["q", "x", "Z", "j", "7", "_", "-", "."],
            &["ba", "ku", "zo", "wi", " ", "fe", "xy"],
            &["😀", "🏴", "é", "ß", "…"],
            &["工", "具", "データ", "ツ"],
            &[
                "\u{202e}",
                "\u{200b}",
                "\n- github (99): ",
                "\r",
                "\u{2028}",
                "x",
            ],
            &["*", "`", "#", "<", ">", "|", "\\", "\""],
            &["𓀀", "ꙮ", "\u{300}", "a"],
        ];
        for (kind, alphabet) in alphabets.into_iter().enumerate() {
            for count in [1, 20, 70, 512] {
                let servers = (0..count).map(|n| {
                    let seed = (kind * 1_000 + n + 1) as u64;
                    let name = format!("{n}{}", noise(alphabet, 200, seed));
                    server(&name, n % 9, Some(&noise(alphabet, 4_000, seed + 7)))
                });
                let text = told(servers.collect());
                assert!(!text.contains("\n- github"), "{text}");
            }
        }
    }

    #[test]
    fn without_servers_it_says_so() {
        assert!(told(Vec::new()).ends_with("No MCP servers are configured."));
    }
}
