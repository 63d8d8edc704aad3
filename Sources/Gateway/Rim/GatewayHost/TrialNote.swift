internal import GatewayCore
internal import LinuxIO
internal import NetworkTypes

/// The trial of files on disk: its end, and what brings back the gateway from before.
struct TrialNote: Codable {
  enum Phase: String, Codable {
    /// The files are being carried out. Found by another process: the trial has not begun, and what it changed is taken back.
    case beginning
    /// The files are in force until the deadline.
    case running
    /// The changes of the files are being taken back.
    case reverting
  }

  var phase = Phase.beginning
  /// The boot in which the deadline counts: another one ends the trial.
  private let boot: String
  /// Nanoseconds of CLOCK_BOOTTIME.
  private let deadline: UInt64
  /// The deadline for people, in seconds since 1970.
  let end: Int64
  private var rows: [RowNote] = []
  var settings: [SettingNote] = []
  /// Whether logins were accepted before, if the trial differs in that.
  var logins: Bool?

  init(lasting length: Duration) {
    boot = bootID
    deadline = (Moment.now + length).nanoseconds
    end = (Timestamp.now.wholeSecond + length).seconds
  }

  /// `nil`: it was of another boot.
  var deadlineHere: Moment? { boot == bootID ? Moment(nanoseconds: deadline) : nil }
  /// Whether its time is over.
  var isOver: Bool { deadlineHere.map { $0 <= .now } ?? true }

  var reversal: Reversal {
    get { Reversal(rows.compactMap(\.entry)) }
    set { rows = newValue.entries.map(RowNote.init) }
  }
}

/// A file of settings before and after; `nil`: there was none.
struct SettingNote: Codable {
  let name: String
  let before: String?
  let after: String?
}

private struct RowNote: Codable {
  let kind: String
  let id: Int64
  let before: [ColumnNote]?
  let after: [ColumnNote]?

  init(_ entry: Reversal.Entry) {
    (kind, id) = (entry.kind.rawValue, entry.id)
    before = entry.before?.values.map(ColumnNote.init)
    after = entry.after?.values.map(ColumnNote.init)
  }

  /// `nil`: a row that this version cannot read.
  var entry: Reversal.Entry? {
    guard let kind = RowKind(rawValue: kind) else { return nil }
    func row(_ columns: [ColumnNote]) -> AnyRow? { try? AnyRow(kind, id: id, values: columns.map(\.value)) }
    let (old, new) = (before.flatMap(row), after.flatMap(row))
    guard (old == nil) == (before == nil), (new == nil) == (after == nil) else { return nil }
    return Reversal.Entry(kind, id, before: old, after: new)
  }
}

/// A value of a column; without any, it is null.
private struct ColumnNote: Codable {
  var number: Int64?
  var text: String?
  /// Base64.
  var bytes: String?

  init(_ value: SQLValue) {
    switch value {
    case .null: break
    case .integer(let number): self.number = number
    case .text(let text): self.text = text
    case .bytes(let bytes): self.bytes = base64(bytes)
    }
  }

  var value: SQLValue {
    if let number { return .integer(number) }
    if let text { return .text(text) }
    return bytes.flatMap { NetworkTypes.bytes(fromBase64: $0) }.map { .bytes($0) } ?? .null
  }
}
