use limbeck_domain::{Approval, Language};
use std::collections::BTreeMap;
pub(crate) struct ShownQuestion<'a> {
    pub(crate) approval: &'a Approval,
    pub(crate) program: &'a str,
    pub(crate) language: Language,
    pub(crate) client: &'a str,
    pub(crate) previous: Option<&'a Approval>,
    pub(crate) origins: &'a BTreeMap<String, Vec<ArgumentOrigin>>,
    pub(crate) similar: Option<(u32, u32, u32)>,
    pub(crate) known_names: &'a [&'a str],
    pub(crate) now_us: u64,
}
pub(crate) enum ArgumentOrigin {}
pub(crate) struct ArgumentBytes(pub(crate) usize);
impl ArgumentBytes {
    pub(crate) const FORM: Self = Self(400);
    pub(crate) const WHOLE: Self = Self(64 << 10);
}
pub(crate) fn text(question: &ShownQuestion<'_>, _width: ArgumentBytes) -> String {
    format!(
        "Allow {}? {}",
        question.approval.tool, question.approval.arguments
    )
}
