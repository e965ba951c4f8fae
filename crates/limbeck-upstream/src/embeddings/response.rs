//! Validation of embeddings responses.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::EMBEDDINGS_DIMENSIONS_MAX;

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Reads the vectors of `body` in the order of the `texts` texts they belong to.
///
/// Items without an `index` are in that order already; items with one may come in any order.
pub(super) fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: EmbeddingsResponse = serde_json::from_slice(body)
        .map_err(|_| "not the JSON of embeddings: an object with `data`, a list".to_owned())?;
    let found = answer.data.len();
    if found != texts {
        return Err(format!("{found} vectors for {texts} texts"));
    }
    let dimensions = answer.data.first().map_or(0, |item| item.embedding.len());
    if texts > 0 && !(1..=EMBEDDINGS_DIMENSIONS_MAX).contains(&dimensions) {
        return Err(format!(
            "a vector of {dimensions} numbers; 1 to {EMBEDDINGS_DIMENSIONS_MAX} are read"
        ));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (place, item) in answer.data.into_iter().enumerate() {
        if item.embedding.len() != dimensions {
            return Err("vectors of different lengths".to_owned());
        }
        // `1e300` is valid JSON and becomes infinite as `f32`.
        if !item.embedding.iter().all(|number| number.is_finite()) {
            return Err("a number that is not finite".to_owned());
        }
        match vectors.get_mut(item.index.unwrap_or(place)) {
            Some(vector @ None) => *vector = Some(item.embedding),
            Some(Some(_)) => return Err("two vectors with one index".to_owned()),
            None => return Err("a vector whose index matches no text".to_owned()),
        }
    }
    // There are as many items as slots and no slot was filled twice, so every slot is filled.
    Ok(vectors.into_iter().flatten().collect())
}

/// Reason in an error response: `error.message`, `error`, `message` or `detail`, else the body as text.
pub(crate) fn reason(body: &[u8]) -> Cow<'_, str> {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let said = parsed.as_ref().and_then(|value| {
        let error = &value["error"];
        [
            &error["message"],
            error,
            &value["message"],
            &value["detail"],
        ]
        .into_iter()
        .find_map(Value::as_str)
    });
    match said {
        Some(said) => Cow::Owned(said.to_owned()),
        None => String::from_utf8_lossy(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts_or_not_at_all() {
        let two = r#"{"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2]}], "more": 1}"#;
        let found = vectors(two.as_bytes(), 2).unwrap();
        assert_eq!(found, [[1.0, 2.0], [3.0, 4.0]]);
        let unnumbered = r#"{"data": [{"embedding": [1]}, {"embedding": [2]}]}"#;
        assert_eq!(vectors(unnumbered.as_bytes(), 2).unwrap(), [[1.0], [2.0]]);

        let long = format!(
            r#"{{"data": [{{"embedding": [{}1]}}]}}"#,
            "1,".repeat(4_096)
        );
        for (body, texts, problem) in [
            (two, 3, "2 vectors for 3 texts"),
            (two, 1, "2 vectors for 1 texts"),
            ("", 1, "not the JSON"),
            ("<html>", 1, "not the JSON"),
            (r#"{"data": [{"embedding": ["1"]}]}"#, 1, "not the JSON"),
            (r#"{"data": [{"embedding": "AAAA"}]}"#, 1, "not the JSON"),
            (r#"{"data": [{"embedding": [null]}]}"#, 1, "not the JSON"),
            (r#"{"data": [{"embedding": [1e999]}]}"#, 1, "not the JSON"),
            (r#"{"data": [{"embedding": [1e300]}]}"#, 1, "not the JSON"),
            (
                r#"{"data": [{"embedding": []}]}"#,
                1,
                "a vector of 0 numbers",
            ),
            (&long, 1, "a vector of 4097 numbers"),
            (
                r#"{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}"#,
                2,
                "different lengths",
            ),
            (
                r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}"#,
                2,
                "one index",
            ),
            (
                r#"{"data": [{"index": 7, "embedding": [1]}]}"#,
                1,
                "index matches no text",
            ),
        ] {
            let reported = vectors(body.as_bytes(), texts).unwrap_err();
            assert!(reported.contains(problem), "{problem}: {reported}");
        }
    }

    #[test]
    fn the_reason_of_an_error_response_is_found_in_all_of_its_forms() {
        for (body, said) in [
            (
                r#"{"error": {"message": "no such model"}}"#,
                "no such model",
            ),
            (r#"{"error": "pull it first"}"#, "pull it first"),
            (r#"{"detail": "not found"}"#, "not found"),
            ("plain words", "plain words"),
        ] {
            assert_eq!(reason(body.as_bytes()), said);
        }
    }
}
