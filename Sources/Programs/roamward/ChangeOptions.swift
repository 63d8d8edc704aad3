import ArgumentParser
import ControlProtocol
import Glibc
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

/// The policies that a command changes, and the way in which the change takes effect.
struct ChangeOptions: ParsableArguments {
  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Option(
    help: ArgumentHelp(
      "Use policies of this folder, not the agent's.", discussion: "The files there are changed directly.", valueName: "folder"),
    completion: .directory)
  var policies: String?

  /// The folders of the policies, the topmost last. It gets the changed files.
  var layers: [String] { policies.map { [absolute($0)] } ?? PolicyLayers.standard }

  /// All policies in force.
  func load() throws -> LoadedPolicies { try load(with: []) }

  /// The policies as they would be with these files in the topmost folder.
  func load(with files: [OutputFile]) throws -> LoadedPolicies {
    if let policies {
      do throws(FileFailure) { _ = try PolicyFileSystem.linux.status(policies) } catch {
        throw ValidationError("--policies \(policies): \(error.reason); name a folder of policies")
      }
    }
    let top = layers.last ?? ""
    let changed = Dictionary(files.map { ("\(top)/\($0.name)", $0.bytes) }) { first, _ in first }
    return loadPolicies(
      layers: layers, files: .person.with(changed), requireRootOwnership: policies == nil && geteuid() == 0)
  }

  /// The file with this text as it would stand in the topmost folder. If its original stands in another folder, the files there that it
  /// names come along, in front of it.
  func changed(_ path: String, to text: String) throws -> [OutputFile] {
    let top = layers.last ?? "."
    let policy = OutputFile(name: fileName(of: path), bytes: Array(text.utf8), isSecret: false)
    let folder = Folder.parent(of: path)
    guard folder != top else { return [policy] }
    let named = loadPolicies(layers: [path], files: .person.with([path: policy.bytes]), requireRootOwnership: false).dependencies
    return try named.filter { Folder.parent(of: $0) == folder }.compactMap { named in
      guard access(named, F_OK) == 0 else { return nil }
      let (name, bytes) = (fileName(of: named), Array(try self.text(of: named).utf8))
      guard access("\(top)/\(name)", F_OK) == 0 else { return OutputFile(name: name, bytes: bytes, isSecret: true) }
      if Array(try self.text(of: "\(top)/\(name)").utf8) == bytes { return nil }
      throw ValidationError("\(path) names \(named), and another file of this name is in \(top); move that first")
    } + [policy]
  }

  /// Puts files into force: by the agent, which checks the whole set, or into the folder if no agent runs. All take effect, or none.
  func put(_ files: [OutputFile]) throws {
    if policies == nil, agent.isAnswering {
      let texts = try files.map { file in
        guard let text = String(validating: file.bytes, as: UTF8.self) else {
          throw ValidationError("\(file.name) is no text, which the agent does not take; write it with --output /etc/roamward/policies")
        }
        return ApplyRequest.File(name: file.name, text: text)
      }
      _ = try agent.ask(.apply(ApplyRequest(files: texts, sessions: session.sessions)))
      return
    }
    do throws(OutputFailure) {
      _ = try writeFiles(files, to: layers.last ?? ".", replacing: true)
    } catch {
      writeError("roamward: nothing was changed: \(error)\n" + (geteuid() == 0 ? "" : "help: run the command with sudo\n"))
      throw ExitStatus.refused
    }
    if policies == nil { writeError("no agent is running; `systemctl enable --now roamwardd` starts it\n") }
  }

  /// The text of a policy file; a failure is printed and ends the program.
  func text(of path: String) throws -> String {
    do throws(FileFailure) {
      let (bytes, _) = try PolicyFileSystem.linux.read(path, fileSizeLimit)
      guard let text = String(validating: bytes, as: UTF8.self) else { throw FileFailure("it is no UTF-8 text") }
      return text
    } catch {
      writeError("roamward: \(path): \(error.reason)\n" + (geteuid() == 0 ? "" : "help: run the command with sudo\n"))
      throw ExitStatus.refused
    }
  }
}

/// The absolute path, even if it does not exist yet.
func absolute(_ path: String) -> String {
  if let real = realpath(path, nil) {
    defer { free(real) }
    return String(cString: real)
  }
  if path.hasPrefix("/") { return path }
  guard let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return String(cString: here) + "/" + path
}

/// The last component of a path.
func fileName(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

extension PolicySet {
  /// The decision of each tunnel's rules on a network, a line each: `corp: connect, rule 2 "elsewhere"`.
  func decisions(on snapshot: NetworkSnapshot) -> [(tunnel: String, text: String)] {
    Evaluator(networks: networks).decide(self, on: snapshot).map { decision in
      let rule = decision.rule.map { ", \($0.text)" } ?? ""
      let without = decision.isWithoutNetwork ? " (no network)" : ""
      return (decision.tunnel, decision.outcome.rawValue + rule + without + (decision.inert.map { "; not acted on: \($0.text)" } ?? ""))
    }
  }
}
