internal import Glibc
package import KernelModel
internal import LinuxIO
internal import NetworkTypes
import RoamwardCore
package import SystemdIO

/// Adds and deletes our record of resolvconf(8), Debian's or openresolv, by running the program; reads its state from its files.
///
/// The program deletes the record before it writes resolv.conf without it. If it is killed in between, our servers stay in the file,
/// without our mark. So a note of the record is in the state folder until the file is written; the next agent finishes the removal.
package final class ResolvconfBackend {
  /// Debian's waits up to ten seconds for its own lock.
  private static let patience = Duration.seconds(12)

  private let loop: EventLoop
  private let path: String
  private let stateDirectory: String
  private var running: ChildProcess?
  /// The last examined program, by device, inode and time.
  private var seen: (version: [Int], kind: ResolvconfProgram?)?

  /// `path`: the file that it manages. `stateDirectory`: for notes.
  package init(on loop: EventLoop, path: String, stateDirectory: String) {
    self.loop = loop
    self.path = path
    self.stateDirectory = stateDirectory
  }

  /// The path and the kind of the program. `nil` if there is none, or if it is resolvectl by that name (the bus provides more).
  package var program: (path: String, kind: ResolvconfProgram)? {
    for folder in ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"] {
      let file = folder + "/resolvconf"
      var status = stat()
      guard access(file, X_OK) == 0, stat(file, &status) == 0, status.st_size < 1 << 19 else { continue }
      let version = [Int(status.st_dev), Int(status.st_ino), status.st_mtim.tv_sec]
      if seen?.version != version { seen = (version, Self.kind(of: file)) }
      if let kind = seen?.kind { return (file, kind) }
    }
    return nil
  }

  /// The kind of a program, from its text: both are scripts that name themselves.
  private static func kind(of file: String) -> ResolvconfProgram? {
    let start = String(decoding: ((try? TextFile.read(file)) ?? []).prefix(4096), as: UTF8.self)
    return start.contains("OPENRESOLV") ? .openresolv : start.contains("part of the resolvconf package") ? .debian : nil
  }

  /// The records that matter, as they are now.
  package func read() -> ResolvconfRecords {
    let unfinished = unfinished
    var found = ResolvconfRecords(ours: unfinished.mapValues { _ in ResolvConf() }, unfinished: unfinished)
    for folder in Self.folders {
      for name in Folder.names(in: folder) {
        let (isOurs, isOfLoopback) = (ResolverRecord.isOurs(name), name == "lo" || name.hasPrefix("lo."))
        guard isOurs || isOfLoopback, let text = try? TextFile.read("\(folder)/\(name)") else { continue }
        let content = ResolvConf(parsing: String(decoding: text, as: UTF8.self))
        if isOurs { found.ours[name] = content } else { found.ofLoopback.append((name, content)) }
      }
    }
    return found
  }

  /// The reason, with the cure, why a record has no effect although the program has taken it.
  private func reasonWithoutEffect(_ program: ResolvconfProgram) -> String {
    let taken = "\(program.rawValue) took the record, but \(path) does not name its servers"
    // It leaves out what follows an address of this machine.
    guard program == .debian, let first = read().ofLoopback.first(where: { $0.content.nameServers.contains(where: \.isLoopback) }) else {
      return "\(taken) (cure: resolvconf --enable-updates)"
    }
    return "\(taken), because its record \(first.name) comes before (cure: `lo\(ResolverRecord.suffix)`"
      + " as the first line of /etc/resolvconf/interface-order)"
  }

  /// Records whose removal has begun, by name.
  private var unfinished: [String: ResolvConf] {
    var records: [String: ResolvConf] = [:]
    for file in Folder.names(in: stateDirectory, withPrefix: Self.notePrefix) where !file.hasSuffix(TextFile.temporarySuffix) {
      guard let text = try? TextFile.read("\(stateDirectory)/\(file)") else { continue }
      records[String(file.dropFirst(Self.notePrefix.count))] = ResolvConf(parsing: String(decoding: text, as: UTF8.self))
    }
    return records
  }

  /// The prefix of the notes' names in the state folder; the record's name follows.
  package static let notePrefix = "resolvconf-"

  private func note(_ name: String) -> String { "\(stateDirectory)/\(Self.notePrefix)\(name)" }

  /// The folders of Debian's resolvconf, and of older and newer openresolv.
  package static let folders = ["interface", "interfaces", "keys"].map { "/run/resolvconf/\($0)" }

  /// Calls back when the file names the record's servers, or with the error.
  package func set(_ record: ResolverRecord, then done: @escaping (String?) -> Void) {
    guard let program else { return done("resolvconf is not installed any more") }
    let isExclusive = program.kind == .openresolv
    run([program.path, "-a", record.name] + (isExclusive ? ["-m", "0", "-x"] : []), input: record.text) { [weak self] problem in
      // The record is the mark again.
      if let self, problem == nil { try? TextFile.remove(note(record.name)) }
      guard let self, problem == nil, !isInForce(record.content) else { return done(problem) }
      // An unchanged record makes the program do nothing, and another program may have overwritten its file.
      run([program.path, "-u"]) { [weak self] problem in
        guard let self, problem == nil, !isInForce(record.content) else { return done(problem) }
        done(reasonWithoutEffect(program.kind))
      }
    }
  }

  package func remove(_ name: String, then done: @escaping (String?) -> Void) {
    let found = read().ours[name].flatMap { $0.nameServers.isEmpty ? nil : $0 }
    guard let program else {
      // The removed program will not write the file any more.
      return found == nil ? finishRemoval(of: name, nil, done) : done("resolvconf, which has our record, is not installed any more")
    }
    let content = found ?? unfinished[name]
    if let content { recordRemoval(of: ResolverRecord(name: name, program: program.kind, content: content)) }
    run([program.path, "-d", name] + (program.kind == .openresolv ? ["-f"] : [])) { [weak self] problem in
      guard let self, problem == nil, let content, isInForce(content) else {
        return self?.finishRemoval(of: name, problem, done) ?? done(problem)
      }
      // The record is removed before the file is written: the process may have been stopped in between.
      run([program.path, "-u"]) { [weak self] problem in
        guard let self, problem == nil, isInForce(content) else { return self?.finishRemoval(of: name, problem, done) ?? done(problem) }
        done("\(program.kind.rawValue) let go of the record, but \(path) still names its servers")
      }
    }
  }

  /// Notes a removal. If the note cannot be written, an agent that is killed in the next moment leaves the file unrepaired.
  private func recordRemoval(of record: ResolverRecord) {
    try? TextFile.replace(note(record.name), with: Array(record.text.utf8), mode: 0o600)
  }

  private func finishRemoval(of name: String, _ problem: String?, _ done: (String?) -> Void) {
    if problem == nil { try? TextFile.remove(note(name)) }
    done(problem)
  }

  private func isInForce(_ content: ResolvConf) -> Bool {
    if content.nameServers.isEmpty { return false }
    guard let text = try? TextFile.read(path) else { return false }
    return ResolvConf(parsing: String(decoding: text, as: UTF8.self)).nameServers.starts(with: content.nameServers)
  }

  private func run(_ arguments: [String], input: String = "", then done: @escaping (String?) -> Void) {
    do throws(SystemError) {
      running = try ChildProcess(arguments, input: Array(input.utf8), timeout: Self.patience, on: loop) { [weak self] outcome in
        self?.running = nil
        if outcome.wasTimedOut { return done("\(arguments[0]) did not end within \(Self.patience.components.seconds) s") }
        let said = outcome.output.split(separator: "\n").first.map { ": \($0)" } ?? ""
        done(outcome.code == 0 ? nil : "\(arguments[0]) \(arguments[1]) ended with \(outcome.code)\(said)")
      }
    } catch {
      done("\(error)")
    }
  }
}

/// Records of resolvconf at one moment.
package struct ResolvconfRecords {
  /// Ours, by name. A deleted one that resolv.conf still contains is an empty one.
  package var ours: [String: ResolvConf]
  /// Those whose removal has begun, by name.
  var unfinished: [String: ResolvConf]
  /// Those of others for the link `lo`.
  var ofLoopback: [(name: String, content: ResolvConf)] = []

  /// The servers of our records, and those that resolv.conf may still name.
  var servers: [IPAddress] { (Array(ours.values) + Array(unfinished.values)).flatMap(\.nameServers) }

  /// Servers of this machine in records of others for the link `lo`.
  var serversOfLoopback: [IPAddress] { ofLoopback.flatMap(\.content.nameServers).filter(\.isLoopback).uniqued() }
}
