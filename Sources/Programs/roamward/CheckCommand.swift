import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicyLint
import PolicySource
import RoamwardCore
import Terminal

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Validate policies: report errors and likely mistakes.",
    discussion: """
      Needs neither root nor the agent. If an agent is running, the last known good policies that it uses instead of broken files are \
      named.

      Warnings cover unreachable rules, tunnels that go down on weak evidence, tunnels in conflict, programs that are missing, and more. \
      As root, files and programs with a wrong owner or wrong permissions, or in such folders, are reported too; in the agent's own folders \
      these are errors. Files that this user may not look at are named once; they are neither right nor wrong.

      Exit status: 0 no errors; 1 errors, or warnings with --strict; 2 usage error, missing path, or a policy file that this user may not \
      read.

      --as checks a file that is not in its place yet, together with the other policies there: as `validate` of Ansible does.

      Example: `roamward check --strict policies`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Policy files or folders (default: the agent's folders).", completion: .policies) var paths: [String] = []
  @Option(
    name: .customLong("as"), help: ArgumentHelp("Check the one file as if it were at this path.", valueName: "path"), completion: .file())
  var place: String?
  @Flag(help: "Print JSON.") var json = false
  @Flag(help: "Treat warnings as errors.") var strict = false
  @Flag(name: .shortAndLong, help: "List ignored files too, with the reason.") var verbose = false

  func validate() throws {
    if place != nil, paths.count != 1 { throw ValidationError("--as is for one policy file; name it") }
  }

  /// The folders or files to load. A file with --as comes with the other policies of its folder, or of all the agent's folders.
  private func sources() throws -> (layers: [String], files: PolicyFileSystem) {
    guard let place else { return (paths.isEmpty ? PolicyLayers.standard : paths, .person) }
    let path = absolute(place)
    let folder = Folder.parent(of: path)
    do throws(FileFailure) {
      let (bytes, _) = try PolicyFileSystem.linux.read(paths[0], fileSizeLimit)
      return (PolicyLayers.standard.contains(folder) ? PolicyLayers.standard : [folder], .person.with([path: bytes]))
    } catch {
      throw ValidationError("\(paths[0]): \(error.reason)")
    }
  }

  func run() throws {
    for path in paths {
      do throws(FileFailure) { _ = try PolicyFileSystem.linux.status(path) } catch {
        if error.cause == .denied { continue }
        throw ValidationError("\(path): \(error.reason)")
      }
    }
    let isRoot = geteuid() == 0
    let (layers, files) = try sources()
    var loaded = loadPolicies(layers: layers, files: files, requireRootOwnership: isRoot && layers == PolicyLayers.standard)
    if isRoot, !paths.isEmpty, place == nil { loaded.diagnostics += loaded.ownershipDoubts() }
    let problems = PolicyProblem.all(in: loaded)
    let errors = problems.count { $0.diagnostic.severity == .error }
    if json {
      let report = CheckReport(
        files: loaded.files, tunnels: loaded.policies.tunnels.count, errors: errors, warnings: problems.count - errors,
        problems: problems.map { CheckReport.Problem($0) }, ignored: loaded.ignored.map { .init(file: $0.path, reason: $0.reason) },
        unread: loaded.unread.map(\.path))
      write(JSON(encoding: report).text(indented: true) + "\n")
    } else {
      for problem in problems { writeError(problem.diagnostic.rendered(color: usesColor) + "\n") }
      if let note = loaded.unreadNote { writeError("note: \(note)\n") }
      for words in errors > 0 ? agent.replacedFileLines(for: loaded.files + loaded.dependencies) : [] { writeError("note: \(words)\n") }
      if verbose { for file in loaded.ignored { write("ignored: \(file.path): \(file.reason)\n") } }
      let counts = [
        (loaded.files.count, "file"), (loaded.policies.tunnels.count, "tunnel"), (errors, "error"), (problems.count - errors, "warning"),
      ]
      write(counts.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: ", ") + "\n")
    }
    if errors > 0 || strict && !problems.isEmpty { throw ExitStatus.policyErrors }
    if !loaded.unreadPolicies.isEmpty { throw ExitStatus.usage }
  }
}

extension CheckReport.Problem {
  fileprivate init(_ problem: PolicyProblem) {
    let place = problem.diagnostic.location
    self.init(
      file: place.file, line: place.line, column: place.column, severity: problem.diagnostic.severity.rawValue,
      kind: problem.finding?.kind.rawValue, message: problem.diagnostic.message, help: problem.diagnostic.help,
      related: problem.finding?.related.map { .init(file: $0.file, line: $0.line, column: $0.column) })
  }
}
