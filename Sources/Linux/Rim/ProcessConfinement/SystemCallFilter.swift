internal import CConfinement
package import LinuxIO

/// The system calls that a program may use, as data (seccomp(2)); all others fail with EPERM.
package struct SystemCallFilter {
  /// The required value of an argument, by its number from 0: `(argument & mask) == value`.
  package struct Test: Hashable, Sendable {
    package let argument: UInt32
    package let mask: UInt64
    package let value: UInt64

    package init(_ argument: UInt32, mask: UInt64 = 0xffff_ffff, equals value: UInt64) {
      self.argument = argument
      self.mask = mask
      self.value = value
    }
  }

  package struct Rule: Hashable, Sendable {
    let call: String
    let tests: [Test]
    let error: Int32

    /// Allows the call if all tests match; at most two.
    package static func allow(_ call: String, where tests: Test...) -> Rule { Rule(call: call, tests: tests, error: 0) }

    /// Rejects the call with this errno value, if all tests match; at most two.
    package static func answer(_ call: String, _ error: Int32, where tests: Test...) -> Rule {
      Rule(call: call, tests: tests, error: error)
    }
  }

  private let rules: [cconfinement_rule]

  /// EINVAL for an unknown system call name, or more than two tests.
  package init(_ rules: [Rule]) throws(SystemError) {
    var compiled: [cconfinement_rule] = []
    for rule in rules {
      let call = cconfinement_call(rule.call)
      guard call != -1, rule.tests.count <= Int(CCONFINEMENT_TESTS) else {
        throw SystemError(code: 22 /* EINVAL */, operation: "allow \(rule.call)")
      }
      var one = cconfinement_rule()
      one.call = call
      one.tests = UInt32(rule.tests.count)
      one.error = rule.error
      let tests = rule.tests.map { cconfinement_test(argument: $0.argument, mask: $0.mask, value: $0.value) }
      if let first = tests.first { one.test.0 = first }
      if tests.count > 1 { one.test.1 = tests[1] }
      compiled.append(one)
    }
    self.rules = compiled
  }

  /// Activates the filter irrevocably, for every thread. 0, or an errno value. A call by the numbers of another architecture ends the
  /// process.
  package func load() -> Int32 { rules.withUnsafeBufferPointer { -cconfinement_load($0.baseAddress, $0.count) } }
}
