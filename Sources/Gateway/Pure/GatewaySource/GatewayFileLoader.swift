package import GatewayCore
import GatewayLogin
package import PolicyFiles
package import PolicySource
import RoamwardCore

/// The files of a gateway in some layers, as one value, and all findings of the load.
package struct LoadedGatewayFiles: Sendable {
  /// Not to be carried out while `hasErrors`.
  package fileprivate(set) var file = GatewayFile()
  package fileprivate(set) var diagnostics: [Diagnostic] = []
  /// The files that count, in their order.
  package fileprivate(set) var files: [String] = []
  package fileprivate(set) var ignored: [IgnoredFile] = []
  fileprivate var sources: [String: SourceText] = [:]

  package init() {}

  package var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

  /// The diagnostic of something that is wrong at a place of these files.
  package func diagnostic(_ message: String, help: String?, at place: DeclaredPlace?) -> Diagnostic {
    guard let place else {
      return Diagnostic(.error, message, help: help, at: SourceLocation(file: files.first ?? "gateway.yaml", line: 1, column: 1))
    }
    let location = SourceLocation(file: place.file, line: place.line, column: place.column)
    return sources[place.file]?.diagnostic(.error, message, help: help, at: location)
      ?? Diagnostic(.error, message, help: help, at: location)
  }
}

/// Reads the files of folders, and single files; later `layers` replace earlier ones by file name, as with policies. It never fails: errors
/// are in the result. Lists of rules and pools go on from file to file, in the order of their names; all else is declared once.
///
/// With `requireRootOwnership`, files and folders that users other than root could have written are refused.
package func loadGatewayFiles(
  layers paths: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool
) -> LoadedGatewayFiles {
  let layers = Layers(paths, files: files)
  var loaded = LoadedGatewayFiles()
  loaded.ignored = layers.ignored
  for (path, failure) in layers.failures { loaded.add(failure, of: path) }
  var merge = GatewayFileMerge()
  for candidate in layers.candidates {
    do throws(FileFailure) {
      if requireRootOwnership, let status = candidate.folderStatus, !status.isTrusted,
        let refusal = status.refusal(of: candidate.folder, called: "its folder \(candidate.folder)")
      {
        throw refusal
      }
      let bytes = try files.readTrusted(candidate.path, requireRootOwnership: requireRootOwnership).bytes
      let parsed = readGatewayFile(candidate.path, bytes: bytes)
      if parsed.isEmpty {
        loaded.ignored.append(IgnoredFile(path: candidate.path, reason: "empty: it only masks files of its name", isMask: true))
        continue
      }
      loaded.sources[candidate.path] = SourceText(policy: candidate.path, bytes)
      loaded.diagnostics += parsed.diagnostics
      merge.add(parsed.file)
    } catch { loaded.add(error, of: candidate.path) }
    loaded.files.append(candidate.path)
  }
  loaded.file = merge.file
  for twice in merge.twice {
    loaded.diagnostics.append(
      loaded.diagnostic("\(twice.first) declares \(twice.text) already", help: "keep one of the two", at: twice.second))
  }
  loaded.diagnostics += contradictions(in: merge.file).map { loaded.diagnostic($0.error.text, help: $0.error.help, at: $0.place) }
  return loaded
}

extension LoadedGatewayFiles {
  fileprivate mutating func add(_ failure: FileFailure, of path: String) {
    diagnostics.append(
      Diagnostic(
        .error, "this file cannot be used: \(failure.reason)", help: failure.cure, at: SourceLocation(file: path, line: 1, column: 1)))
  }
}

/// Files as one, and what two of them declare.
private struct GatewayFileMerge {
  struct Twice {
    let text: String
    let first: DeclaredPlace
    let second: DeclaredPlace
  }

  private(set) var file = GatewayFile()
  private(set) var twice: [Twice] = []
  private var places: [String: DeclaredPlace] = [:]

  mutating func add(_ other: GatewayFile) {
    let new = other.declaration
    take(\.declaration.site, other, "`gateway`")
    for pool in new.pools?.value ?? [] { once("pool \(pool.value.name)", at: pool.place) }
    for rule in new.rules?.value ?? [] { once("rule \(rule.value.name)", at: rule.place) }
    for group in new.groups { once("group \(group.value.name)", at: group.place) }
    for user in new.users { once("user \(user.value.name)", at: user.place) }
    for settings in new.settings { once("settings of \(settings.value.scope.text)", at: settings.place) }
    Self.append(&file.declaration.pools, new.pools)
    Self.append(&file.declaration.rules, new.rules)
    file.declaration.groups += new.groups
    file.declaration.users += new.users
    file.declaration.settings += new.settings
    take(\.host.logins, other, "`logins`")
    for (setting, text) in other.host.ordered {
      if !["gateway", "logins"].contains(setting.key[0]) { once("`\(setting.key[0])`", at: text.place) }
      if file.host.texts[setting] == nil { file.host.texts[setting] = text }
    }
    file.expectations += other.expectations
  }

  private mutating func once(_ text: String, at place: DeclaredPlace) {
    if let first = places[text] { twice.append(Twice(text: text, first: first, second: place)) } else { places[text] = place }
  }

  /// `text`: of a key that stands once; `nil`: it is a part of another one.
  private mutating func take<Value>(
    _ path: WritableKeyPath<GatewayFile, Declaration.Placed<Value>?>, _ other: GatewayFile, _ text: String? = nil
  ) {
    guard let new = other[keyPath: path] else { return }
    if let text { once(text, at: new.place) }
    if file[keyPath: path] == nil { file[keyPath: path] = new }
  }

  private static func append<Value>(_ present: inout Declaration.Placed<[Value]>?, _ new: Declaration.Placed<[Value]>?) {
    guard let new else { return }
    if present == nil { present = new } else { present?.value += new.value }
  }
}

/// Declarations that contradict each other, whatever the store has.
private func contradictions(in file: GatewayFile) -> [DeclarationFault] {
  let declared = Dictionary(file.declaration.groups.map { ($0.value.name, $0) }) { first, _ in first }
  return (file.host.openID?.groups ?? []).compactMap { mapping in
    guard let group = declared[mapping.group], group.value.members != nil else { return nil }
    return DeclarationFault(
      place: group.place,
      error: GatewayError(
        "the members of group \(mapping.group) are declared here, and come from the OpenID provider too",
        help: "remove `members`, or the group from `logins: { openid: { groups } }`"))
  }
}
