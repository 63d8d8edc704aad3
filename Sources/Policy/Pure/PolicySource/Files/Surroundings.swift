internal import KernelModel
internal import PolicyFiles
package import RoamwardCore

/// Access to the files that a policy file names, and the findings from reading them.
struct Surroundings: Sendable {
  let files: PolicyFileSystem
  /// The absolute path of the policy file's folder.
  let folder: String
  let requireRootOwnership: Bool
  /// Absolute paths of all named files, readable or not. Reload the policy when one of them changes.
  private(set) var dependencies: [String] = []
  private(set) var diagnostics: [Diagnostic] = []
  private(set) var read: [ReadFile] = []
  /// Every access to a named file, successful or not.
  private(set) var inputs: [FileInput] = []
  /// The programs and secrets that it names, whatever they are.
  private(set) var named: [NamedFile] = []
  /// The files that this user may not look at, of a load that leaves them unread.
  private(set) var unread: [UnreadFile] = []
  private var ssidFiles: [String: SSIDFile] = [:]
  private var prefixFiles: [String: PrefixFile] = [:]

  init(files: PolicyFileSystem, folder: String, requireRootOwnership: Bool) {
    self.files = files
    self.folder = folder
    self.requireRootOwnership = requireRootOwnership
  }

  func absolutePath(of name: String) -> String {
    if name.hasPrefix("/") { return name }
    let relative = name.hasPrefix("./") ? String(name.dropFirst(2)) : name
    return files.pathOfNamed?(folder, relative) ?? joined(folder, relative)
  }

  /// The SSID list; unreadable if it does not exist or is not trusted.
  mutating func ssidFile(named name: String) -> SSIDFile {
    let path = absolutePath(of: name)
    if let known = ssidFiles[path] { return known }
    let file: SSIDFile
    do throws(FileFailure) {
      let list = readSSIDList(try readNamed(path).bytes, file: path)
      diagnostics += list.diagnostics
      file = SSIDFile(path: path, contents: .entries(list.entries))
    } catch {
      _ = leaveUnread(path, error)
      file = SSIDFile(path: path, contents: .unreadable(reason: error.reason))
    }
    ssidFiles[path] = file
    return file
  }

  /// A wg-quick file; `nil` if it has errors, which are then among the diagnostics.
  mutating func wireGuardFile(named name: String) throws(FileFailure) -> WireGuardProviderConfiguration? {
    let path = absolutePath(of: name)
    let (bytes, status): ([UInt8], PolicyFileSystem.Status)
    do throws(FileFailure) {
      (bytes, status) = try readNamed(path)
    } catch {
      if leaveUnread(path, error) { return WireGuardProviderConfiguration(path: path, configuration: nil) }
      throw error
    }
    let (configuration, problems) = readWireGuardQuick(bytes, file: path, mode: status.mode)
    diagnostics += problems
    return configuration.map { WireGuardProviderConfiguration(path: path, configuration: $0) }
  }

  /// A list of prefixes; `nil` if it has errors, which are then among the diagnostics, or is left unread.
  mutating func prefixFile(named name: String) throws(FileFailure) -> PrefixFile? {
    let path = absolutePath(of: name)
    if let known = prefixFiles[path] { return known }
    let bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try readNamed(path, limit: prefixFileSizeLimit).bytes
    } catch {
      if leaveUnread(path, error) { return nil }
      throw error
    }
    let (prefixes, problems) = readPrefixList(bytes, file: path)
    diagnostics += problems
    guard let prefixes else { return nil }
    let file = PrefixFile(path: path, prefixes: prefixes)
    prefixFiles[path] = file
    return file
  }

  /// A proxy auto-configuration script, which is not looked into; `nil` if it is left unread.
  mutating func scriptFile(named name: String) throws(FileFailure) -> ScriptFile? {
    let path = absolutePath(of: name)
    do throws(FileFailure) {
      let bytes = try readNamed(path, limit: ProxyScript.longest).bytes
      if bytes.isEmpty { throw FileFailure("it is empty") }
      return ScriptFile(path: path, bytes: bytes)
    } catch {
      if leaveUnread(path, error) { return nil }
      throw error
    }
  }

  /// Reads a file of at most `limit` bytes that a policy names, and records the access, successful or not.
  mutating func readNamed(
    _ path: String, limit: Int = fileSizeLimit
  ) throws(FileFailure) -> (bytes: [UInt8], status: PolicyFileSystem.Status) {
    if !dependencies.contains(path) { dependencies.append(path) }
    do throws(FileFailure) {
      let (bytes, status) = try files.readTrusted(path, requireRootOwnership: requireRootOwnership, limit: limit)
      if bytes.count > limit { throw FileFailure("it is larger than \(limit >> 20) MiB") }
      inputs.append(FileInput(path: path, version: status.version))
      read.append(ReadFile(path: path, bytes: bytes))
      return (bytes, status)
    } catch {
      inputs.append(FileInput(path: path, version: nil))
      throw error
    }
  }

  /// The reason why the agent must not run a program, which may not be there: another user than root could have written it.
  mutating func troubleOfProgram(_ program: String, at place: SourceLocation) -> FileFailure? {
    named.append(NamedFile(path: program, kind: .program, location: place))
    guard requireRootOwnership, let path = files.program(named: program) else { return nil }
    do throws(FileFailure) {
      let refusal = try files.refusal(ofPath: path)
      if let version = try files.status(path).version {
        inputs.append(FileInput(path: path, version: version, isTrusted: refusal == nil))
      }
      return refusal
    } catch {
      return nil
    }
  }

  /// Returns the problem of a file that has a secret; `nil`: none. Its content is not read: no copy of it is kept.
  mutating func troubleOfSecret(_ path: String, at place: SourceLocation) -> FileFailure? {
    named.append(NamedFile(path: path, kind: .secret, location: place))
    guard let trouble = troubleOfSecret(path) else { return nil }
    return leaveUnread(path, trouble) ? nil : trouble
  }

  /// Whether the file stays unread because this user may not look at it, which is no problem of the policy.
  mutating func leaveUnread(_ path: String, _ failure: FileFailure, _ kind: UnreadFile.Kind = .named) -> Bool {
    guard files.leavesUnread, failure.cause == .denied else { return false }
    if !unread.contains(where: { $0.path == path }) { unread.append(UnreadFile(path: path, kind: kind)) }
    return true
  }

  private func troubleOfSecret(_ path: String) -> FileFailure? {
    do throws(FileFailure) {
      let status = try (files.statusOfSecret ?? files.status)(path)
      guard status.kind == .regular else { return FileFailure("it is no regular file") }
      if requireRootOwnership, status.owner != 0 { return FileFailure("it does not belong to root", cure: "chown root:root \(path)") }
      if requireRootOwnership, let refusal = try refusalOfSecret(path) { return refusal }
      return status.mode & 0o077 == 0 ? nil : FileFailure("others may read it", cure: "chmod 0600 \(shellWord(path))")
    } catch {
      return error
    }
  }

  /// A secret that is only known to have been good is looked at again when a tunnel starts.
  private func refusalOfSecret(_ path: String) throws(FileFailure) -> FileFailure? {
    files.statusOfSecret == nil ? try files.refusal(ofPath: path) : nil
  }
}

/// A file that this user may not look at: nothing is known of what is in it.
package struct UnreadFile: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// A policy file, a folder of policies, or a provider's manifest: without it a tunnel or a network may be missing.
    case policy
    /// A file that a policy names.
    case named
  }

  package let path: String
  package let kind: Kind
}

/// A program or a secret that a policy names. Nothing of it is read.
package struct NamedFile: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case program, secret
  }

  /// Absolute; the name of a program that is searched on PATH.
  package let path: String
  package let kind: Kind
  /// The place in the policy that names it.
  package let location: SourceLocation
}
