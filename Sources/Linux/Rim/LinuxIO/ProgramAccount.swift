internal import Glibc

/// The user and the groups of a program.
package struct ProgramAccount: Equatable, Sendable {
  package let user: UInt32
  package let group: UInt32
  /// All its groups.
  package let groups: [UInt32]

  /// `user`: a name, or the number of a user without an account, which has the groups of `shared`. In a container that has no such number
  /// it is `shared`. Throws if there is no such account.
  package init(_ user: String, groupsOf shared: String = "nobody") throws(SystemError) {
    let number = UInt32(user)
    let name = number == nil ? user : shared
    guard let account = getpwnam(name) else { throw SystemError(code: ENOENT, operation: "there is no user \(name)") }
    (self.user, group) = (number.flatMap { Self.isMapped($0) ? $0 : nil } ?? account.pointee.pw_uid, account.pointee.pw_gid)
    var (count, groups) = (Int32(64), [gid_t](repeating: 0, count: 64))
    getgrouplist(name, group, &groups, &count)
    self.groups = Array(groups.prefix(Int(max(1, min(count, 64)))))
  }

  /// Whether this user namespace has the user (user_namespaces(7)).
  private static func isMapped(_ user: UInt32) -> Bool {
    guard let text = try? TextFile.read("/proc/self/uid_map", limit: 1 << 16) else { return true }
    return String(decoding: text, as: UTF8.self).split(separator: "\n").contains { line in
      let numbers = line.split(separator: " ").compactMap { UInt64($0) }
      return numbers.count == 3 && UInt64(user) >= numbers[0] && UInt64(user) < numbers[0] + numbers[2]
    }
  }
}
