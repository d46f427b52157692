mod support;
#[test]
fn artifacts() {
    for (folder, law) in [("read", support::laws::hold_for_reading as fn(&[u8])), ("damage", support::damage::hold_for_choices)] {
        let mut bad = 0;
        let mut cases: Vec<_> = std::fs::read_dir(format!("fuzz/artifacts/{folder}")).unwrap().map(|e| e.unwrap().path()).collect();
        cases.sort();
        for case in &cases {
            let bytes = std::fs::read(case).unwrap();
            if std::panic::catch_unwind(|| law(&bytes)).is_err() { bad += 1; println!("BAD {}", case.display()); }
        }
        println!("{folder}: {bad} of {}", cases.len());
    }
}
