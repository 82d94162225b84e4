//! Scans of small columns, with answers worked out by hand.
use super::*;

fn scan(symbols: &[u64], sessions: &[u64], options: &ScanOptions) -> Result<Scan, ScanError> {
    super::scan(symbols, &SessionColumn::from(sessions), options)
}

fn options() -> ScanOptions {
    ScanOptions { window: 4, max_period: 8, laps: 3, rows: true, threads: NonZeroUsize::MIN, hash_key: 7 }
}

fn one_session(symbols: &[u64], options: &ScanOptions) -> (SessionStats, RowColumns) {
    let found = scan(symbols, &vec![1; symbols.len()], options).unwrap();
    assert_eq!(found.sessions.len(), 1);
    (found.sessions[0], found.rows.unwrap_or_default())
}

fn periods(symbols: &[u64], options: &ScanOptions) -> Vec<u32> {
    one_session(symbols, options).1.period
}

/// A small generator, so that random columns are the same everywhere.
fn random(seed: u64, length: usize, below: u64) -> Vec<u64> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    })
    .take(length)
    .collect()
}

#[test]
fn a_session_worked_by_hand() {
    // A B A B A B C, window 4
    let (stats, rows) = one_session(&[1, 2, 1, 2, 1, 2, 3], &options());
    let entropy = 7f64.log2() - 2.0 * 3.0 * 3f64.log2() / 7.0;
    assert!((stats.entropy - entropy).abs() < 1e-9);
    let expected = SessionStats {
        session: 1,
        first_row: 0,
        calls: 7,
        repeats: 4,
        longest_run: 1,
        highest_count: 2,
        cycles: 1,
        first_cycle: Some((5, 2)),
        distinct: 3,
        entropy: stats.entropy,
        min_entropy: Some(1.0),
    };
    assert_eq!(stats, expected);
    let expected = RowColumns {
        repeat: vec![false, false, true, true, true, true, false],
        period: vec![0, 0, 0, 0, 0, 2, 0],
        distinct: vec![1, 2, 2, 2, 2, 2, 3],
        entropy: vec![0.0, 1.0, rows.entropy[2], 1.0, 1.0, 1.0, 1.5],
    };
    assert!((rows.entropy[2] - (3f64.log2() - 2.0 / 3.0)).abs() < 1e-9);
    assert_eq!(rows, expected);
}

#[test]
fn the_smallest_period_is_reported() {
    assert_eq!(periods(&[5, 5, 5, 5], &options()), [0, 0, 1, 1]);
}

#[test]
fn two_laps_and_a_bit_are_no_cycle_of_three() {
    assert_eq!(periods(&[1, 2, 1, 2, 1], &options()), [0; 5]);
}

#[test]
fn a_foreign_call_ends_a_cycle() {
    assert_eq!(periods(&[1, 1, 1, 2, 1, 1, 1], &options()), [0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn a_period_of_a_thousand_is_found_at_the_end_of_its_last_lap() {
    let symbols: Vec<u64> = (0..3001).map(|i| i % 1000).collect();
    let (stats, _) = one_session(&symbols, &ScanOptions { max_period: 1000, ..options() });
    assert_eq!((stats.cycles, stats.first_cycle), (2, Some((2999, 1000))));
    let (stats, _) = one_session(&symbols, &ScanOptions { max_period: 999, ..options() });
    assert_eq!(stats.first_cycle, None);
}

#[test]
fn a_session_shorter_than_the_window_has_no_full_window() {
    let (stats, _) = one_session(&[1, 1, 1], &options());
    assert_eq!((stats.highest_count, stats.min_entropy, stats.entropy), (3, None, 0.0));
}

#[test]
fn interleaved_sessions_are_told_apart() {
    let found = scan(&[1, 9, 1, 9, 1, 8], &[5, 6, 5, 6, 5, 6], &options()).unwrap();
    let first: Vec<_> = found.sessions.iter().map(|s| (s.session, s.first_row, s.repeats, s.first_cycle)).collect();
    assert_eq!(first, [(5, 0, 2, Some((4, 1))), (6, 1, 1, None)]);
    assert_eq!(found.rows.unwrap().repeat, [false, false, true, true, true, false]);
}

#[test]
fn totals_add_up_the_sessions() {
    let found = scan(&[1, 1, 1, 1, 2, 3, 2], &[1, 1, 1, 1, 2, 2, 2], &options()).unwrap();
    let expected = Totals {
        sessions: 2,
        calls: 7,
        repeats: 4,
        cycles: 2,
        cycling_sessions: 1,
        distinct: 3,
        longest_run: 4,
        highest_count: 4,
        min_entropy: Some(0.0),
    };
    assert_eq!(found.totals, expected);
}

#[test]
fn an_empty_input_has_no_sessions() {
    let found = scan(&[], &[], &options()).unwrap();
    assert_eq!(found, Scan { sessions: vec![], totals: Totals::default(), rows: Some(RowColumns::default()) });
}

#[test]
fn neither_threads_nor_the_hash_key_change_the_result() {
    let symbols = random(1, 200_000, 40);
    for sessions in [random(2, 200_000, 300), (0..200_000).map(|i| i / 500).collect()] {
        let alone = scan(&symbols, &sessions, &options()).unwrap();
        for (threads, hash_key) in [(2, 0), (7, u64::MAX)] {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(scan(&symbols, &sessions, &ScanOptions { threads, hash_key, ..options() }).unwrap(), alone);
        }
    }
}

#[test]
fn a_sliding_window_has_the_entropy_of_the_same_rows_scanned_afresh() {
    // counts above the table of steps enter and leave
    let symbols = random(3, 30_000, 3);
    let window = 9_000;
    let (_, rows) = one_session(&symbols, &ScanOptions { window, ..options() });
    for end in [9_000, 17_123, 30_000] {
        let (afresh, _) = one_session(&symbols[end - 9_000..end], &options());
        assert_eq!((rows.entropy[end - 1], rows.distinct[end - 1]), (afresh.entropy, afresh.distinct));
    }
}

#[test]
fn symbols_that_share_hash_bits_stay_apart() {
    // far more symbols than first slots, in an order that makes the table grow while symbols repeat
    let symbols: Vec<u64> = (0..50_000u64).map(|i| (i / 2) << 40).collect();
    let (stats, _) = one_session(&symbols, &options());
    assert_eq!((stats.distinct, stats.repeats, stats.longest_run), (25_000, 25_000, 2));
}

#[test]
fn options_out_of_range_are_refused() {
    let refused = |options| scan(&[1], &[1], &options).unwrap_err();
    assert_eq!(refused(ScanOptions { window: 0, ..options() }), ScanError::Window);
    assert_eq!(refused(ScanOptions { max_period: 0, ..options() }), ScanError::MaxPeriod);
    assert_eq!(refused(ScanOptions { max_period: MAX_PERIOD + 1, ..options() }), ScanError::MaxPeriod);
    assert_eq!(refused(ScanOptions { laps: 1, ..options() }), ScanError::Laps);
    let error = scan(&[1], &[], &options()).unwrap_err();
    assert_eq!(error.to_string(), "`symbols` has 1 row and `sessions` has 0; give one session per symbol");
}

#[test]
fn a_session_column_in_parts_equals_the_whole() {
    let mut parts = SessionColumn::default();
    for part in [[4i8, 4], [4, -1], [-1, 4]] {
        parts.extend(&part, |session| *session as u64);
    }
    assert_eq!(parts, SessionColumn::from(&[4, 4, 4, u64::MAX, u64::MAX, 4][..]));
    assert_eq!(parts.rows(), 6);
}
