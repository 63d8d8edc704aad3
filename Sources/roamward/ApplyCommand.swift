import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import Glibc
import LinuxIO
import LinuxPlatform
import PolicySource

struct Apply: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Puts policies in force, on trial if you like: without `roamward confirm` the last set comes back by itself.",
    discussion: """
      Takes a policy file, or a folder of them with the files that they name. They go over what is in force: a file replaces one of its name, an \
      empty one masks it, all others stay. With errors anywhere, nothing changes.

      With --confirm-within nothing is written to the policies' folder before `roamward confirm`; until then the new files are a layer of their own, \
      which the agent takes away when the time is over, also if it was killed and started again meanwhile. A reboot ends the trial at once.

      Called over SSH, it refuses what would cut that session, unless it is a trial, or --even-ssh is given.
      """)

  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Argument(help: "A policy file, or a folder of policies.", completion: .file()) var path: String
  @Option(help: ArgumentHelp("Take it back after this time unless `roamward confirm` was said: 60s, 5m.", valueName: "duration"))
  var confirmWithin: String?

  func validate() throws {
    guard let confirmWithin else { return }
    guard let length = seconds(confirmWithin), length >= 1, length <= Double(ApplyRequest.longestTrial) else {
      throw ValidationError("--confirm-within takes a duration of a second to a day: 60s, 5m")
    }
  }

  func run() throws {
    let files = try read()
    let length = confirmWithin.flatMap(seconds).map { Int64($0) }
    _ = try agent.ask(.apply(ApplyRequest(files: files, confirmWithin: length, sessions: session.sessions)))
    let names = files.map(\.name).joined(separator: ", ")
    if let length {
      write("\(names): in force on trial; the last set comes back in \(age(length)) unless you say `roamward confirm`\n")
    } else {
      write("\(names): in force\n")
    }
  }

  /// The policies, and of the files that they name those that lie beside them.
  private func read() throws -> [ApplyRequest.File] {
    guard let resolved = realpath(path, nil) else { throw trouble("\(path): \(String(cString: strerror(errno)))") }
    defer { free(resolved) }
    let whole = String(cString: resolved)
    let isFolder = opendir(whole).map { closedir($0) } != nil
    let folder = isFolder ? whole : Folder.parent(of: whole)
    let beside = Folder.names(in: folder)
    // Those that only mask others are policies too.
    var names = isFolder ? beside.filter { name in [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) } } : [lastComponent(whole)]
    let dependencies = loadPolicies(layers: [whole], requireRootOwnership: false).dependencies
    names += dependencies.filter { Folder.parent(of: $0) == folder }.map(lastComponent).filter(beside.contains)
    do throws(SystemError) {
      var files: [ApplyRequest.File] = []
      for name in Set(names).sorted() where !name.hasPrefix(".") {
        guard let text = String(validating: try TextFile.read("\(folder)/\(name)"), as: UTF8.self) else {
          throw SystemError(code: EILSEQ, operation: "read \(folder)/\(name) as text")
        }
        files.append(.init(name: name, text: text))
      }
      if !files.isEmpty { return files }
    } catch {
      throw trouble("\(error)")
    }
    throw trouble("there is no policy in \(path)")
  }

  private func trouble(_ text: String) -> ExitCode {
    writeError("roamward: \(text)\n")
    return ExitStatus.policyErrors
  }
}

struct Confirm: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Keeps the policies that `apply --confirm-within` has put on trial.")

  @OptionGroup var agent: AgentOptions

  func run() throws {
    _ = try agent.ask(.confirm)
    write("the policies are kept\n")
  }
}

struct Revert: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Takes the policies on trial back now.")

  @OptionGroup var agent: AgentOptions

  func run() throws {
    _ = try agent.ask(.revert)
    write("the last set of policies is back in force\n")
  }
}

private func lastComponent(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
