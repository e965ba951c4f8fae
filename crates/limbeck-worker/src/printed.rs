//! Text that a program prints, up to a bound: its beginning and its end.
//!
//! Lines are sent at once as long as half of the bound has room for them. The last of what follows is kept and sent when
//! the program ends, with a line that says how much between the two was left out. So an answer has what a program
//! printed first and what it printed last, and a program that is killed loses no more than the end.

use std::collections::VecDeque;

use limbeck_domain::text::cut;
use limbeck_wire::{LogLine, LogStream};

/// Bytes of the lines that say what was left out, one for each stream.
const MARKS_BYTES: usize = 192;

/// Printed text of one program.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// Bytes that may still be sent at once; zero from the first line without room on.
    head_left: usize,
    /// Bytes of all lines, their ends counted.
    bytes_max: usize,
    /// Bytes sent at once.
    sent: usize,
    /// Lines to send at the end, oldest first, and their bytes.
    tail: VecDeque<LogLine>,
    tail_bytes: usize,
    left_out: [LeftOut; 2],
    /// Whether there was a line of any text.
    pub(crate) any: bool,
}

/// What a stream lost between its beginning and its end.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    lines: u64,
    bytes: u64,
}

impl Printed {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            head_left: bytes_max / 2,
            bytes_max,
            ..Self::default()
        }
    }

    /// Takes a line, given without its end. Returns what is to be sent now.
    pub(crate) fn push(&mut self, stream: LogStream, line: &[u8]) -> Option<LogLine> {
        self.any = true;
        if line.len() < self.head_left {
            let line = text_of(line, line.len());
            self.head_left -= line.len() + 1;
            self.sent += line.len() + 1;
            return Some(LogLine { stream, text: line });
        }
        let room = std::mem::take(&mut self.head_left).saturating_sub(1);
        let kept_max = self.room().saturating_sub(1);
        if line.len() <= kept_max || room == 0 {
            self.keep(stream, line);
            return None;
        }
        // One line that is larger than the bound: its beginning is sent, its end is kept.
        let beginning = text_of(line, room);
        self.sent += beginning.len() + 1;
        self.keep(stream, &line[room..]);
        Some(LogLine {
            stream,
            text: beginning,
        })
    }

    /// Lines to send at the end of the program.
    pub(crate) fn finish(&mut self) -> Vec<LogLine> {
        let mut lines = Vec::new();
        for (stream, left_out) in [LogStream::Stdout, LogStream::Stderr]
            .into_iter()
            .zip(self.left_out)
        {
            if left_out.bytes > 0 && self.marks_bytes() > 0 {
                let LeftOut {
                    lines: count,
                    bytes,
                } = left_out;
                let text = format!("… {count} lines left out ({bytes} bytes)");
                lines.push(LogLine { stream, text });
            }
        }
        lines.extend(self.tail.drain(..));
        lines
    }

    /// Bytes that are neither sent nor kept.
    pub(crate) fn bytes_left_out(&self) -> u64 {
        self.left_out.iter().map(|left_out| left_out.bytes).sum()
    }

    /// Counts bytes of a line that were not given to [`Printed::push`].
    pub(crate) fn leave_out(&mut self, stream: LogStream, bytes: usize) {
        self.left_out[index(stream)].bytes += bytes as u64;
    }

    /// Bytes that may be kept for the end.
    fn room(&self) -> usize {
        self.bytes_max
            .saturating_sub(self.sent + self.marks_bytes())
    }

    /// Bytes of the marks; a small bound has no room for them.
    fn marks_bytes(&self) -> usize {
        match self.bytes_max > 4 * MARKS_BYTES {
            true => MARKS_BYTES,
            false => 0,
        }
    }

    fn keep(&mut self, stream: LogStream, line: &[u8]) {
        let room = self.room();
        let from = (line.len() + 1).saturating_sub(room);
        let from = (from..line.len())
            .find(|at| line[*at] & 0b1100_0000 != 0b1000_0000)
            .unwrap_or(line.len());
        self.leave_out(stream, from);
        let text = text_of(&line[from..], room.saturating_sub(1));
        self.tail_bytes += text.len() + 1;
        self.tail.push_back(LogLine { stream, text });
        while self.tail_bytes > room {
            let Some(LogLine { stream, text }) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= text.len() + 1;
            self.leave_out(stream, text.len() + 1);
            self.left_out[index(stream)].lines += 1;
        }
    }
}

/// The beginning of a line in at most `bytes_max`; what is not UTF-8 is replaced.
fn text_of(line: &[u8], bytes_max: usize) -> String {
    let mut text = String::from_utf8_lossy(&line[..bytes_max.min(line.len())]).into_owned();
    // Replacing what is not UTF-8, such as a character cut in two, may have made it longer.
    text.truncate(cut(&text, bytes_max).len());
    text
}

fn index(stream: LogStream) -> usize {
    match stream {
        LogStream::Stdout => 0,
        LogStream::Stderr => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(bytes_max: usize, lines: &[String]) -> (String, u64) {
        let mut printed = Printed::new(bytes_max);
        let mut text = String::new();
        let mut add = |line: LogLine| {
            text.push_str(&line.text);
            text.push('\n');
        };
        for line in lines {
            printed
                .push(LogStream::Stdout, line.as_bytes())
                .into_iter()
                .for_each(&mut add);
        }
        printed.finish().into_iter().for_each(&mut add);
        assert!(text.len() <= bytes_max, "{} of {bytes_max}", text.len());
        (text, printed.bytes_left_out())
    }

    #[test]
    fn lines_within_the_bound_are_whole_and_in_order() {
        let lines: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
        let (text, left_out) = printed(1_000, &lines);
        assert_eq!(text, lines.join("\n") + "\n");
        assert_eq!(left_out, 0);
        let large = vec!["x".repeat(700)];
        assert_eq!(printed(1_000, &large), (format!("{}\n", large[0]), 0));
    }

    #[test]
    fn of_more_lines_the_first_and_the_last_are_kept_and_the_rest_is_counted() {
        let lines: Vec<String> = (0..3_000).map(|number| format!("line {number}")).collect();
        let (text, left_out) = printed(2_000, &lines);
        assert!(text.starts_with("line 0\nline 1\n"), "{text}");
        assert!(text.ends_with("line 2998\nline 2999\n"), "{text}");
        let shown: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("line"))
            .collect();
        let all = lines.join("\n").len() as u64 + 1;
        let mark = text.lines().find(|line| line.starts_with('…')).unwrap();
        assert_eq!(
            mark,
            format!(
                "… {} lines left out ({left_out} bytes)",
                3_000 - shown.len()
            )
        );
        let kept = shown.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
        assert_eq!(left_out, all - kept);
    }

    #[test]
    fn of_one_large_line_the_beginning_and_the_end_are_kept() {
        let line = format!("begin{}end", "é".repeat(5_000));
        let (text, left_out) = printed(1_000, std::slice::from_ref(&line));
        assert!(
            text.starts_with("beginé") && text.ends_with("éend\n"),
            "{text}"
        );
        assert!(!text.contains('\u{fffd}'), "{text}");
        assert!(left_out > 9_000 && left_out < line.len() as u64);
    }
}
