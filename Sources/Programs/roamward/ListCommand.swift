import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

struct ListPolicies: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the policy files, their tunnels and networks.",
    discussion: """
      Shows the files of all layers, in the order in which they are read, and which of them another file masks. Needs no agent; a file \
      that only root may read is shown with that reason.

      Example: `roamward list --policies policies`
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    let loaded = try policies.loadAll()
    let listing = PolicyListing(loaded)
    if json {
      write(JSON(encoding: ListReport(listing)).text(indented: true) + "\n")
      return
    }
    write(listing.text)
    if listing.files.isEmpty {
      let places = policies.policies.isEmpty ? PolicyLayers.standard : policies.policies
      write("no policy files in \(places.joined(separator: ", ")); `roamward init` or `roamward import FILE` makes the first\n")
    }
    if let note = loaded.unreadNote { write("note: \(note)\n") }
    guard policies.policies.isEmpty else { return }
    for words in loaded.hasErrors ? agent.replacedFileLines(for: loaded.files + loaded.dependencies) : [] { write("note: \(words)\n") }
    if agent.hasTrial { write("note: policies are on trial too; `roamward confirm` keeps them, `roamward revert` removes them\n") }
  }
}

struct Cat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat",
    abstract: "Show policy files in force, each with its path.",
    discussion: """
      Without names it shows all. A name is that of a file, a tunnel or a network. Keys are in other files, never in policies.

      Example: `roamward cat corp`
      """)

  @OptionGroup var policies: PolicyOptions
  @Argument(help: "Files, tunnels or networks.", completion: .tunnels) var names: [String] = []

  func run() throws {
    let listing = PolicyListing(try policies.loadAll())
    let all = listing.files.filter { $0.state == .inForce || $0.state == .broken }.map(\.path)
    let paths = try names.isEmpty ? all : names.flatMap { try listing.named($0) }.uniqued()
    if paths.isEmpty { throw ValidationError("no policy files are in force; `roamward init` or `roamward import FILE` makes the first") }
    for (place, path) in paths.enumerated() {
      let text: String
      do throws(FileFailure) {
        text = String(decoding: try PolicyFileSystem.linux.read(path, fileSizeLimit).bytes, as: UTF8.self)
      } catch {
        writeError("roamward: \(path): \(error.reason)\n")
        throw ExitStatus.policyErrors
      }
      write("\(place > 0 ? "\n" : "")# \(path)\n\(text)\(text.hasSuffix("\n") ? "" : "\n")")
    }
  }
}

extension PolicyListing {
  /// The files in force that a person names; an error says which there are.
  func named(_ word: String) throws -> [String] {
    let found = paths(of: word)
    guard found.isEmpty else { return found }
    let known = files.filter { $0.state == .inForce || $0.state == .broken }.map { fileName(of: $0.path) }
    throw ValidationError(
      "no policy file, tunnel or network in force is named \"\(word)\"; files: \(known.isEmpty ? "none" : known.joined(separator: ", "))")
  }
}

extension ListReport {
  fileprivate init(_ listing: PolicyListing) {
    self.init(
      files: listing.files.map {
        File(
          path: $0.path, state: $0.state.rawValue, maskedBy: $0.maskedBy, tunnels: $0.tunnels, networks: $0.networks, errors: $0.errors)
      })
  }
}
