/** The text of one setting and where it was found, as a user knows that place. */
export interface Given {
  text: string;
  origin: string;
}

/** Texts by setting name. */
export type GivenTexts = Map<string, Given>;
