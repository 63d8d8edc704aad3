import ArgumentParser
import ControlProtocol
import Glibc
import LinuxIO
import Terminal

/// Options for one start of a tunnel's provider.
struct StartArguments: ParsableArguments {
  @Option(
    name: .customLong("option"),
    help: ArgumentHelp("Give the provider an option; repeat it for a list.", valueName: "key=value"))
  var given: [String] = []
  @Option(help: ArgumentHelp("Give the provider the option `username`.", valueName: "name")) var username: String?
  @Option(
    name: .customLong("password-fd"),
    help: ArgumentHelp("Read a password for this start from a descriptor.", valueName: "number"))
  var passwordDescriptor: Int32?
  @Flag(help: "Ask for a password for this start, not shown.") var askPassword = false

  func validate() throws {
    for text in given where !(text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).count == 2 && text.first != "=") {
      // It may be a password in the wrong place.
      throw ValidationError("--option takes KEY=VALUE, such as --option server=vpn.example:443")
    }
    if passwordDescriptor != nil, askPassword { throw ValidationError("--password-fd and --ask-password exclude each other; use one") }
    if let passwordDescriptor, passwordDescriptor < 0 {
      throw ValidationError("--password-fd takes the number of an open descriptor: 0, 3")
    }
  }

  /// `nil`: none.
  func options() throws -> StartOptions? {
    var options = given.compactMap { text -> StartOptions.Option? in
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return parts.count == 2 ? .init(name: String(parts[0]), value: String(parts[1])) : nil
    }
    if let username { options.append(.init(name: "username", value: username)) }
    let start = StartOptions(options: options, password: try password())
    return start.isEmpty ? nil : start
  }

  private func password() throws -> String? {
    if askPassword {
      guard let line = try readHiddenLine("Password (not shown): "), !line.isEmpty else {
        writeError("roamward: no password was given; --ask-password reads a line of standard input\n")
        throw ExitStatus.refused
      }
      return line
    }
    guard let passwordDescriptor else { return nil }
    return try read(from: passwordDescriptor)
  }

  /// All bytes to the end, without one newline there.
  private func read(from number: Int32) throws -> String {
    let limit = StartOptions.limits.password
    var bytes: [UInt8] = []
    do throws(SystemError) {
      let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
      if copy < 0 { throw SystemError.last("read descriptor \(number)") }
      let file = FileDescriptor(owning: copy)
      while bytes.count <= limit + 1, let more = try file.read(atMost: limit + 2), !more.isEmpty { bytes += more }
    } catch {
      writeError("roamward: --password-fd \(number): \(error); open it in the shell, as in `\(number)<file`\n")
      throw ExitStatus.refused
    }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard (1...limit).contains(bytes.count), let text = String(validating: bytes, as: UTF8.self) else {
      writeError("roamward: --password-fd \(number): a password is text of 1 to \(limit) bytes\n")
      throw ExitStatus.refused
    }
    return text
  }
}
