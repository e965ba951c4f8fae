//! `URL` and `URLSearchParams` after the WHATWG standard, by the `url` crate.

use rquickjs::{Object, String as JsString};
use url::{Url, form_urlencoded, quirks};

use super::add;

pub(super) fn add_to(natives: &Object<'_>) -> rquickjs::Result<()> {
    add(natives, "parseUrl", parse)?;
    add(natives, "changeUrl", change)?;
    add(natives, "parseQuery", parse_query)?;
    add(natives, "formatQuery", format_query)
}

/// The parts of a URL in the order `prelude/url.js` reads them; nothing for text that is not a URL.
fn parse(text: String, base: Option<String>) -> Option<Vec<String>> {
    let base = match base {
        Some(base) => Some(Url::parse(&base).ok()?),
        None => None,
    };
    let url = Url::options().base_url(base.as_ref()).parse(&text).ok()?;
    Some(parts(&url))
}

fn parts(url: &Url) -> Vec<String> {
    [
        quirks::href(url),
        &quirks::origin(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ]
    .map(str::to_owned)
    .into()
}

/// The parts of `href` after one was set. As in browsers a value that does not fit changes nothing;
/// `href` itself must fit, and nothing comes back when it does not.
fn change(href: String, part: String, value: String) -> Option<Vec<String>> {
    let mut url = Url::parse(&href).ok()?;
    let fits = match part.as_str() {
        "href" => return parse(value, None),
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => return None,
    };
    // The standard says so: a setter with an unfit value does nothing and does not complain.
    let (Ok(()) | Err(())) = fits;
    Some(parts(&url))
}

/// Names and values in turn.
fn parse_query(query: JsString<'_>) -> rquickjs::Result<Vec<String>> {
    let query = query.to_cstring()?;
    Ok(form_urlencoded::parse(query.as_bytes())
        .flat_map(|(name, value)| [name.into_owned(), value.into_owned()])
        .collect())
}

fn format_query(names_and_values: Vec<String>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for pair in names_and_values.chunks_exact(2) {
        query.append_pair(&pair[0], &pair[1]);
    }
    query.finish()
}
