import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicyFiles
import PolicySource
import StatusDisplay
import Terminal

struct Apply: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Apply policies, optionally on trial.",
    discussion: """
      Takes policy files, and folders of policies, with the files that they name. A file replaces the active file of the same name, an \
      empty file masks it, and all other files stay. If any file has errors, nothing changes.

      With --confirm-within, the policies are active on trial. The agent reverts them when the time is over, even if it was restarted \
      meanwhile. `roamward confirm` writes them to the policy folder. A reboot ends the trial.

      Over SSH, changes that would cut your session are refused, except on trial or with --even-ssh.

      Example: `roamward apply 10-corp.yaml --confirm-within 2m`
      """)

  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Argument(help: ArgumentHelp("Policy files, or folders of policies.", valueName: "path"), completion: .policies) var paths: [String]
  @Option(help: ArgumentHelp("Revert after this time without `roamward confirm`: 60s, 5m.", valueName: "duration"))
  var confirmWithin: String?

  func validate() throws {
    guard let confirmWithin else { return }
    guard let length = seconds(confirmWithin), length >= 1, .seconds(length) <= ApplyRequest.longestTrial else {
      throw ValidationError("--confirm-within takes a duration from a second to a day: 60s, 5m")
    }
  }

  func run() throws {
    let files = try paths.reduce(into: []) { files, path in files += try read(path) }.uniqued()
    let length = confirmWithin.flatMap(seconds).map(lasting)
    _ = try agent.ask(
      .apply(ApplyRequest(files: files, confirmWithin: length, sessions: session.sessions)), progress: "activating \(files.count) files")
    let names = files.map(\.name).joined(separator: ", ")
    if let length {
      write("\(names): active on trial; reverted in \(age(length)) unless you run `roamward confirm`\n")
    } else {
      write("\(names): active\n")
    }
  }

  /// The policies, and the files beside them that they name.
  private func read(_ path: String) throws -> [ApplyRequest.File] {
    guard let resolved = realpath(path, nil) else { throw trouble("\(path): \(String(cString: strerror(errno)))") }
    defer { free(resolved) }
    let whole = String(cString: resolved)
    let isFolder = opendir(whole).map { closedir($0) } != nil
    let folder = isFolder ? whole : Folder.parent(of: whole)
    let beside = Folder.names(in: folder)
    // Files that only mask others are policies too.
    var names = isFolder ? beside.filter { name in [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) } } : [lastComponent(whole)]
    let dependencies = loadPolicies(layers: [whole], files: .person, requireRootOwnership: false).dependencies
    names += dependencies.filter { Folder.parent(of: $0) == folder }.map(lastComponent).filter(beside.contains)
    do throws(SystemError) {
      var files: [ApplyRequest.File] = []
      for name in Set(names).sorted() where !name.hasPrefix(".") {
        // The agent says how much it takes.
        guard let text = String(validating: try TextFile.read("\(folder)/\(name)", limit: 1 << 24), as: UTF8.self) else {
          throw SystemError(code: EILSEQ, operation: "read \(folder)/\(name) as text")
        }
        files.append(.init(name: name, text: text))
      }
      if !files.isEmpty { return files }
    } catch {
      throw trouble("\(error)")
    }
    throw trouble("no policy files in \(path)")
  }

  private func trouble(_ text: String) -> ExitCode {
    writeError("roamward: \(text)\n")
    return ExitStatus.policyErrors
  }
}

struct Confirm: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm",
    abstract: "Keep the policies on trial.",
    discussion: "Example: `roamward confirm`")

  @OptionGroup var agent: AgentOptions

  func run() throws {
    _ = try agent.ask(.confirm, progress: "confirming the policies")
    write("policies confirmed\n")
  }
}

struct Revert: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert",
    abstract: "Revert the policies on trial now.",
    discussion: "Example: `roamward revert`")

  @OptionGroup var agent: AgentOptions

  func run() throws {
    _ = try agent.ask(.revert, progress: "reverting the policies")
    write("policies reverted: the previous set is active again\n")
  }
}

private func lastComponent(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
