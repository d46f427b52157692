//! Reads the column names from a `CREATE TABLE` statement.

/// A table in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// Page number of the root of the table's B-tree.
    pub(super) root: u32,
    /// The stored columns, in order.
    pub(super) columns: Vec<String>,
    /// Position in `columns` of the column that contains the row id, if there is one.
    pub(super) row_id: Option<usize>,
    /// Why the table cannot be read; `None` if the table can be read.
    pub(super) unread: Option<&'static str>,
}

/// Words that begin a table constraint instead of a column definition.
const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

/// The table that a `CREATE TABLE` statement creates.
pub(super) fn table(name: String, root: u32, sql: &str) -> Table {
    let (parts, after) = parts(sql);
    let mut table = Table { name, root, columns: Vec::new(), row_id: None, unread: None };
    if is_word(&after, 0, "WITHOUT") || after.iter().any(|word| word.eq_ignore_ascii_case("ROWID"))
    {
        table.unread = Some("is WITHOUT ROWID");
    }
    let (mut key, mut integers) = (None, Vec::new());
    for words in &parts {
        let Some(first) = words.first() else { continue };
        if CONSTRAINTS.iter().any(|word| first.eq_ignore_ascii_case(word)) {
            key = key.or(key_of(words));
            continue;
        }
        if words.iter().skip(1).any(|word| word.eq_ignore_ascii_case("AS")) {
            table.unread = Some("has computed columns");
        }
        if primary_key(words).is_some() {
            key = Some(first);
        }
        if is_word(words, 1, "INTEGER") {
            integers.push(first);
        }
        table.columns.push(first.clone());
    }
    let is_key = |column: &String| key.is_some_and(|key| key.eq_ignore_ascii_case(column));
    if integers.into_iter().any(is_key) {
        table.row_id = table.columns.iter().position(is_key);
    }
    if parts.is_empty() {
        table.unread = Some("has an unknown kind of definition");
    }
    table
}

/// The column of a table constraint that makes a single column the primary key.
fn key_of(words: &[String]) -> Option<&String> {
    match &words[primary_key(words)? + 2..] {
        [column] => Some(column),
        _ => None,
    }
}

/// The position of the words PRIMARY KEY.
fn primary_key(words: &[String]) -> Option<usize> {
    (0..words.len()).find(|&at| is_word(words, at, "PRIMARY") && is_word(words, at + 1, "KEY"))
}

fn is_word(words: &[String], at: usize, word: &str) -> bool {
    words.get(at).is_some_and(|own| own.eq_ignore_ascii_case(word))
}

/// The words of each definition between the outermost parentheses, and the words after the closing
/// parenthesis. The words of a table constraint include the columns in its own parentheses.
fn parts(sql: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut parts, mut words, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let is_key = |words: &[String]| {
        is_word(words, 0, "PRIMARY")
            || is_word(words, 0, "CONSTRAINT") && is_word(words, 2, "PRIMARY")
    };
    let mut depth = 0_usize;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let used = match first {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '(' => {
                depth += 1;
                1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && !words.is_empty() {
                    parts.push(std::mem::take(&mut words));
                }
                1
            }
            ',' if depth == 1 => {
                parts.push(std::mem::take(&mut words));
                1
            }
            '"' | '`' | '\'' | '[' => {
                let close = if first == '[' { ']' } else { first };
                let end = rest[1..].find(close).map_or(rest.len(), |at| at + 1);
                if depth == 1 || depth == 2 && is_key(&words) {
                    words.push(rest[1..end].to_owned());
                }
                (end + 1).min(rest.len())
            }
            _ if is_name(first) => {
                let end = rest.find(|other| !is_name(other)).unwrap_or(rest.len());
                match depth {
                    1 => words.push(rest[..end].to_owned()),
                    2 if is_key(&words) => words.push(rest[..end].to_owned()),
                    0 if !parts.is_empty() => after.push(rest[..end].to_owned()),
                    _ => {}
                }
                end
            }
            other => other.len_utf8(),
        };
        rest = &rest[used..];
    }
    (parts, after)
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Table {
        table("t".to_owned(), 2, sql)
    }

    #[test]
    fn columns_are_named_whatever_surrounds_them() {
        let sql = "CREATE TABLE t (\n -- a comment, with ( and ,\n id INTEGER NOT NULL PRIMARY KEY, -- x\n \
                   \"end\" INTEGER, [text] TEXT DEFAULT ('a, b'), n DECIMAL(10, 5), UNIQUE (id, n))";
        let table = read(sql);
        assert_eq!(table.columns, ["id", "end", "text", "n"]);
        assert_eq!((table.row_id, table.unread), (Some(0), None));
    }

    #[test]
    fn a_key_after_the_columns_is_the_row_id_too() {
        let row_id =
            |key: &str| read(&format!("CREATE TABLE t (a TEXT, id INTEGER, {key})")).row_id;
        assert_eq!(row_id("PRIMARY KEY (id)"), Some(1));
        assert_eq!(row_id("CONSTRAINT k PRIMARY KEY (\"ID\")"), Some(1));
        // These keys do not replace the row id: a column with text, two columns, and no primary key.
        assert_eq!(row_id("PRIMARY KEY (a)"), None);
        assert_eq!(row_id("PRIMARY KEY (id, a)"), None);
        assert_eq!(row_id("UNIQUE (id)"), None);
    }

    #[test]
    fn tables_of_other_kinds_are_refused() {
        assert!(read("CREATE TABLE t (a INT PRIMARY KEY, b) WITHOUT ROWID").unread.is_some());
        assert!(read("CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1))").unread.is_some());
        assert!(read("CREATE VIRTUAL TABLE t USING fts5").unread.is_some());
        assert_eq!(read("CREATE TABLE t (a INT PRIMARY KEY)").row_id, None);
    }
}
