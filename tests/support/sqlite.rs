//! Writes SQLite databases with the layout of Nsight Systems exports; each table must fit into one page.

/// The page size, which is the largest that SQLite supports.
const PAGE: usize = 65536;

/// A value in a row.
#[derive(Debug, Clone)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Int(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<Option<i64>> for Cell {
    fn from(number: Option<i64>) -> Cell {
        number.map_or(Cell::Null, Cell::Int)
    }
}

/// A database under construction.
#[derive(Debug, Default)]
pub struct Database {
    tables: Vec<(&'static str, &'static str, Vec<Vec<Cell>>)>,
}

impl Database {
    /// Adds a table with the given columns, in the syntax of `CREATE TABLE`.
    pub fn table(&mut self, name: &'static str, columns: &'static str, rows: Vec<Vec<Cell>>) {
        self.tables.push((name, columns, rows));
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let schema = self.tables.iter().zip(2..).map(|((name, columns, _), page)| {
            let sql = format!("CREATE TABLE {name} ({columns})");
            vec![
                "table".into(),
                (*name).into(),
                (*name).into(),
                Cell::Int(page),
                sql.as_str().into(),
            ]
        });
        let mut head = b"SQLite format 3\0".to_vec();
        head.extend([0, 1, 1, 1, 0, 64, 32, 32]);
        head.resize(100, 0);
        head[27] = 1; // the change counter
        head[95] = 1; // must equal the change counter, or the page count is ignored
        head[31] = 1 + self.tables.len() as u8;
        (head[47], head[59]) = (4, 1); // the schema format is 4, and the text encoding is UTF-8
        let mut file = page(&head, &schema.collect::<Vec<_>>());
        for (_, _, rows) in &self.tables {
            file.extend(page(&[], rows));
        }
        file
    }
}

/// A leaf page that begins with the bytes in `head` and contains all rows.
fn page(head: &[u8], rows: &[Vec<Cell>]) -> Vec<u8> {
    let mut page = head.to_vec();
    page.resize(PAGE, 0);
    let (mut end, at) = (PAGE, head.len());
    for (number, row) in rows.iter().enumerate() {
        let record = record(row);
        let mut cell = varint(record.len());
        cell.extend(varint(number + 1));
        cell.extend(record);
        end -= cell.len();
        let pointer = at + 8 + 2 * number;
        assert!(pointer + 2 <= end, "the rows do not fit into one page");
        page[end..end + cell.len()].copy_from_slice(&cell);
        page[pointer..pointer + 2].copy_from_slice(&(end as u16).to_be_bytes());
    }
    page[at] = 13;
    page[at + 3..at + 5].copy_from_slice(&(rows.len() as u16).to_be_bytes());
    page[at + 5..at + 7].copy_from_slice(&(end as u16).to_be_bytes());
    page
}

fn record(row: &[Cell]) -> Vec<u8> {
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for cell in row {
        match cell {
            Cell::Null => types.push(0),
            Cell::Int(number) => {
                types.push(6);
                values.extend(number.to_be_bytes());
            }
            Cell::Text(text) => {
                types.extend(varint(13 + 2 * text.len()));
                values.extend(text.bytes());
            }
        }
    }
    let mut record = varint(types.len() + 1);
    assert_eq!(record.len(), 1, "a row with many long texts");
    record.extend(types);
    record.extend(values);
    record
}

fn varint(number: usize) -> Vec<u8> {
    assert!(number < 1 << 14, "a long text");
    if number < 0x80 {
        vec![number as u8]
    } else {
        vec![(number >> 7) as u8 | 0x80, number as u8 & 0x7f]
    }
}
