package import ControlProtocol
internal import FlightRecord
internal import KeyMemory
internal import LinuxIO
package import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// The agent's flight record: takes evaluations and events, and writes them to the record's folder when the agent has nothing else to do.
///
/// It begins with the first policies, which say how private the record is. A disk that is full or read-only never stops the agent: what
/// cannot be written is counted, and the record goes on when it can be written again.
package final class FlightRecorder {
  private enum Entry {
    case pass(DecisionPass)
    case event(Event)
  }

  /// Called when entries wait for `flush`.
  package var entriesWait: () -> Void = {}
  /// Entries that are not text yet.
  private var waiting: [Entry] = []
  private static let mostWaiting = 100
  private let folder: HistoryFolder
  private var settings: HistorySettings?
  private var writer: RecordWriter?
  private var segments = SegmentList()
  private var cause = SegmentBegin.Cause.start
  private var failure: SystemError?

  package init(folder: HistoryFolder) { self.folder = folder }

  package func add(_ pass: DecisionPass) { add(.pass(pass)) }

  package func add(_ event: Event) { add(.event(event)) }

  /// Writes what waits, and that the agent stops.
  package func end(at time: Timestamp) {
    takeWaiting()
    writer?.end(at: time)
    flush(at: time)
  }

  /// A tunnel that connects does not wait for the text of its entry.
  private func add(_ entry: Entry) {
    waiting.append(entry)
    if waiting.count >= Self.mostWaiting { takeWaiting() }
    entriesWait()
  }

  private func takeWaiting() {
    for entry in waiting {
      switch entry {
      case .pass(let pass): take(pass)
      case .event(let event): writer?.add(event)
      }
    }
    waiting = []
  }

  private func take(_ pass: DecisionPass) {
    // Before the first set, nothing says how private the record is.
    guard pass.generation > 0 else { return }
    if settings?.isSame(as: pass.policies.history) != true { take(pass.policies.history) }
    guard settings?.isEnabled == true else { return }
    if writer == nil { prepare(at: pass.time) }
    writer?.add(pass)
  }

  /// Whether the record has a gap, because it could not be written, and is to go on.
  package var isBehind: Bool { failure != nil && settings?.isEnabled == true }

  /// Goes on with a record that could not be written, although nothing waits.
  package func tryAgain(at now: Timestamp) {
    guard isBehind, let settings else { return }
    guard var writer else { return prepare(at: now) }
    writer.begin(.resumed, at: now)
    let lines = writer.take()
    do throws(SystemError) {
      try write(lines, toNew: true, settings, now)
      failure = nil
    } catch {
      failure = error
      writer.lose(lines)
    }
    self.writer = writer
  }

  /// Writes what waits.
  package func flush(at now: Timestamp) {
    takeWaiting()
    guard var writer, let settings else { return }
    defer { self.writer = writer }
    let lines = writer.take()
    guard !lines.isEmpty else { return }
    do throws(SystemError) {
      if failure != nil {
        // These lines refer to lost ones, so the new segment repeats the lost state first.
        writer.begin(.resumed, at: now)
        try write(writer.take() + lines, toNew: true, settings, now)
      } else {
        try write(lines, settings, now)
        if segments.needsNew(for: lines.count, settings, at: now) {
          writer.begin(.rotation, at: now)
          try write(writer.take(), toNew: true, settings, now)
        }
      }
      failure = nil
    } catch {
      failure = error
      writer.lose(lines)
    }
  }

  private func write(_ lines: [UInt8], toNew: Bool = false, _ settings: HistorySettings, _ now: Timestamp) throws(SystemError) {
    let before = segments
    if toNew { _ = segments.begin(settings.names, at: now) }
    guard let segment = segments.segments.last else { return }
    do throws(SystemError) {
      try folder.remove(segments.removeOutdated(before: lines.count, settings, at: now))
      try folder.append(lines, to: segment)
      segments.grow(by: lines.count)
    } catch {
      // Part of a line may be there. The next segment repeats all that is needed, so a new one is not kept.
      if toNew {
        try? folder.remove([segment])
        segments = before
      }
      throw error
    }
  }

  /// Takes over the policy's settings. What these do not allow is removed, also what has not been written yet.
  private func take(_ new: HistorySettings) {
    let old = settings
    settings = new
    do throws(SystemError) {
      if !new.isEnabled {
        writer = nil
        segments = SegmentList()
        return try folder.removeAll()
      }
      if let old, old.isEnabled { cause = .settings }
      writer = nil
    } catch {
      failure = error
    }
  }

  /// Begins a segment. Segments with more names than the settings allow are removed.
  private func prepare(at now: Timestamp) {
    guard let settings else { return }
    do throws(SystemError) {
      let digest = try folder.makeDigest()
      let privacy = NamePrivacy(settings.names, digest)
      segments = SegmentList(folder.segments)
      try folder.remove(segments.removeRevealing(settings))
      let identifier = PolicyIdentifier(digest: privacy.identification)
      var writer = RecordWriter(privacy, limit: settings.size / SegmentList.parts, identify: identifier.identify)
      _ = segments.begin(settings.names, at: now)
      writer.begin(cause, at: now)
      cause = .start
      self.writer = writer
      failure = nil
    } catch {
      failure = error
    }
  }

  /// The present problem with the record, for people.
  package var troubles: [String] {
    guard let failure else { return [] }
    let lost = writer.map(\.lost) ?? 0
    return [
      "the record for `roamward history` has a gap\(lost > 0 ? " of \(lost) entries so far" : ""), because \(folder.path) cannot be written: "
        + "\(failure.reason); make room there, or mount it for writing"
    ]
  }
}

extension HistorySettings {
  /// Whether the settings are the same, wherever they stand.
  fileprivate func isSame(as other: HistorySettings) -> Bool {
    var other = other
    other.location = location
    return self == other
  }
}
