import ArgumentParser
import FlightRecord
import Glibc
import History
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Terminal

/// The agent's record on this machine.
struct RecordOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Path of the agent's state folder.", valueName: "folder"), completion: .directory) var stateDir =
    "/var/lib/roamward"

  /// The record, with its key. Only root may read it.
  func read() throws -> RecordOnDisk {
    let path = HistoryFolder.path(in: stateDir)
    guard access(path, R_OK | X_OK) == 0 else {
      if errno == ENOENT {
        writeError(
          "roamward: there is no record in \(path): the agent has not run yet, or a policy has `history: { enabled: false }`\n")
        throw ExitStatus.refused
      }
      try requireRoot("to read the record, which names places")
      writeError("roamward: \(SystemError.last("open \(path)"))\n")
      throw ExitStatus.refused
    }
    let folder = HistoryFolder(path: path)
    let (segments, unreadable) = folder.read()
    for line in unreadable { writeError("roamward: \(line)\n") }
    var history = RecordedHistory(segments: segments)
    if HistoryFolder.isInUse(stateDir) { history.goesOn(until: .now) }
    return RecordOnDisk(history: history, privacy: folder.digest.map { NamePrivacy(.full, $0) })
  }
}

/// A record that was read.
struct RecordOnDisk {
  var history: RecordedHistory
  /// With the record's key; `nil`: the key is gone, and with it the connection between policies and the record.
  var privacy: NamePrivacy?

  func identification(of policies: PolicySet) -> String { privacy.map { policies.identification($0.identification) } ?? "" }

  /// With the names that the policies know.
  func revealed(by policies: PolicySet) -> RecordedHistory { history.revealing(policies, privacy) }
}

extension LocalCalendar {
  /// The time zone of this machine.
  static let machine = LocalCalendar(
    civil: { timestamp in
      var time = time_t(timestamp.seconds)
      var parts = tm()
      localtime_r(&time, &parts)
      return CivilTime(
        year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday), hour: Int(parts.tm_hour),
        minute: Int(parts.tm_min), second: Int(parts.tm_sec))
    },
    timestamp: { civil in
      var parts = tm()
      parts.tm_year = Int32(civil.year - 1900)
      parts.tm_mon = Int32(civil.month - 1)
      parts.tm_mday = Int32(civil.day)
      parts.tm_hour = Int32(civil.hour)
      parts.tm_min = Int32(civil.minute)
      parts.tm_sec = Int32(civil.second)
      parts.tm_isdst = -1
      return Timestamp(seconds: Int64(mktime(&parts)))
    })
}

/// The moment that a person wrote; ends the program with status 2 if it is none.
func pastTime(_ text: String, option: String, now: Timestamp = .now) throws -> Timestamp {
  guard let past = PastTime(text, now: now, .machine) else {
    throw ValidationError("\(option) \"\(text)\": not a time; write \(PastTime.forms)")
  }
  return past.time
}

/// Writes a page for a browser, for its owner alone.
func writePage(_ text: String, to path: String) throws {
  do throws(SystemError) { try TextFile.replace(path, with: Array(text.utf8), mode: 0o600) } catch {
    writeError("roamward: \(error)\n")
    throw ExitStatus.refused
  }
}
