print("roamward")
